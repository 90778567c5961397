/** The Operations Agent's script over the records of `npm start`, and the platform's events on their way to an agent. */
import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Option, Stream } from "effect"
import * as OperationsTools from "../../layers/spectral/agents/OperationsTools.ts"
import * as Channels from "../../layers/compose/assembly/Channels.ts"
import * as Platform from "../../layers/compose/assembly/Platform.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { script } from "../../scripts/incident/IncidentScript.ts"
import { sampleRecords } from "../../scripts/sample/SampleRecords.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { FailureClusterReader } from "../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { eventHandlers } from "../../src/spectral/agents/EventMessage.ts"
import { spectralKinds } from "../../src/spectral/agents/SpectralKinds.ts"
import { platform_events } from "../../src/spectral/platform/contracts/PlatformEvent.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { workspaceOperations } from "../../src/spectral/agents/Operations.ts"
import type { Decision } from "../../src/approval/Approval.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Events from "./Events.ts"
import { some } from "./Records.ts"

const tenant = Tenant.make("acme")
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })
const ann = new Principal({ id: "ann", tenant, roles: ["approver"] })
const conversation = ConversationId.make("c-1")

const service = Runtime.layer({
  agents: [workspaceOperations],
  tools: [OperationsTools.tools, ...Platform.tools]
}).pipe(
  Layer.provide(ScriptedModelGateway.layer(script)),
  Layer.provideMerge(Spectral.layer),
  Layer.provideMerge(Stores.ephemeral),
  Layer.orDie
)

const send = (text: string) =>
  AgentRuntime.use((it) =>
    it.send({ agent: workspaceOperations.name, conversation, text }, olga)
  ).pipe(Effect.map(({ task }) => task.id))

const said = (run: string) =>
  AgentRuntime.use((it) =>
    it.watch(conversation, { ordinal: 0, seq: -1 }, olga).pipe(
      Stream.flatMap((item) =>
        item._tag === "Event" && item.run === run && item.entry.event._tag === "RunEnded"
          ? Stream.succeed(item.entry.event.text ?? "")
          : Stream.empty
      ),
      Stream.runHead,
      Effect.map(Option.getOrThrow)
    )
  )

const ask = (text: string) => Effect.flatMap(send(text), said)

const decided = Effect.fnUntraced(function* (text: string, decision: Decision) {
  const run = yield* send(text)
  const desk = yield* ApprovalDesk
  const [approval] = yield* eventually(desk.pending(ann, 10), (all) => all.length === 1)
  yield* desk.decide(approval!.id, decision, ann)
  return yield* said(run)
})

const test = (title: string, body: Effect.Effect<void, unknown, Layer.Success<typeof service>>) =>
  it.live(title, () =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      yield* RecordImporter.use((importer) => importer.record(tenant, sampleRecords(1, now)))
      yield* body
    }).pipe(Effect.provide(service))
  )

const id = "support-bot-invented-deadline"
const triage = FailureClusterReader.use((reader) =>
  Effect.map(reader.cluster(tenant, id), (record) => record.triage)
)

describe("the walk through failure clusters", () => {
  test(
    "ST-47 ST-48 asked which clusters are critical it lists them, and shows one",
    Effect.gen(function* () {
      const list = yield* ask("Which failure clusters are critical?")
      assert.include(list, `${id} (critical, new)`)
      assert.notInclude(list, "(high")
      const shown = yield* ask(`Show cluster ${id}`)
      assert.include(shown, "Names a deadline that no source has")
      assert.match(shown, /- failure-\d+: Contract/)
      assert.include(yield* ask("Show cluster nothing"), "I could not look")
    })
  )

  test(
    "ST-49 a triage is proposed after a look; denied it changes nothing, approved it is kept",
    Effect.gen(function* () {
      const denied = yield* decided(`Resolve cluster ${id}`, { _tag: "Deny", reason: "not yet" })
      assert.include(denied, "was not changed: ann denied it (not yet)")
      assert.deepEqual(yield* triage, { status: "new" })
      const approved = yield* decided(`Acknowledge cluster ${id}`, { _tag: "Approve" })
      assert.include(approved, `${id} is acknowledged now, approved by ann`)
      assert.deepInclude(yield* triage, { status: "acknowledged", triaged_by: "ann" })
    })
  )
})

describe("the walk through a summary", () => {
  test(
    "SA-46 asked for a summary it counts the open clusters, and counts again after a triage",
    Effect.gen(function* () {
      const before = yield* ask("Give me a summary")
      assert.match(before, /^Scans: .*\d+ completed/m)
      assert.notMatch(before, /^Failure clusters: .*resolved/m)
      yield* decided(`Resolve cluster ${id}`, { _tag: "Approve" })
      assert.match(yield* ask("Give me an overview"), /^Failure clusters: .*\b1 resolved/m)
    })
  )
})

const card = WorkspaceReader.use((reader) => reader.systemCard(tenant, "support-bot"))

describe("the walk through drafts", () => {
  test(
    "SA-46 failures are distilled into a draft, which is published with an approval and not without",
    Effect.gen(function* () {
      const patterns = yield* ask("Which patterns are there?")
      assert.match(patterns, /^1\. .+: \d+ failures, \d+ %, in 1 cluster of .+ For example: /)
      assert.include(yield* ask("List the drafts"), "There are no drafts")
      const before = yield* card
      const written = yield* ask("Draft the card of support-bot")
      assert.include(written, "draft-1 is written: the card of support-bot with 3 more limits")
      const shown = yield* ask("Show draft-1")
      assert.include(shown, "draft-1 is waiting: Known limits of support-bot")
      assert.include(shown, "- Known failure, medium: Leaves the second question unanswered")
      assert.deepEqual(yield* card, before)
      const denied = yield* decided("Publish draft-1", { _tag: "Deny", reason: "not yet" })
      assert.include(denied, "draft-1 was not published: ann denied it (not yet)")
      assert.deepEqual(yield* card, before)
      const approved = yield* decided("Publish draft-1", { _tag: "Approve" })
      assert.include(approved, "draft-1 is published now, approved by ann")
      assert.lengthOf((yield* card).limits, before.limits.length + 3)
      assert.include(yield* ask("List the drafts"), "draft-1 of support-bot (published)")
      // The first draft has said it already.
      assert.include(yield* ask("Draft the card of support-bot"), "says this already")
      assert.include(yield* ask("Show draft-7"), "I could not look")
      assert.include(yield* ask("Draft the card of nothing"), "nothing has no open failure cluster")
    })
  )

  test(
    "SA-46 a draft whose card changed in between is refused after its approval, and withdrawn",
    Effect.gen(function* () {
      yield* ask("Draft the card of support-bot")
      const importer = yield* RecordImporter
      const moved = { ...(yield* card), owner: "Somebody else" }
      yield* importer.record(tenant, some({ systems: [moved] }))
      const refused = yield* decided("Publish draft-1", { _tag: "Approve" })
      assert.include(refused, "draft-1 was not published: the card of support-bot is at revision 2")
      assert.deepEqual(yield* card, moved)
      const withdrawn = yield* decided("Withdraw draft-1", { _tag: "Approve" })
      assert.include(withdrawn, "draft-1 is withdrawn now, approved by ann")
    })
  )
})

const spectral = AgentSpec.make({
  name: AgentName.make("spectral"),
  kind: spectralKinds.spectral,
  instructions: "Help."
})
const channels = Channels.make({
  events: { agent: spectral, handlers: eventHandlers, topics: Object.keys(platform_events) }
})
const listening = Runtime.layer({
  agents: [spectral],
  tools: [],
  deliveries: channels.deliveries
}).pipe(
  Layer.provide(ScriptedModelGateway.layer(() => ScriptedModelGateway.text("I looked at it."))),
  Layer.provideMerge(channels.layer),
  Layer.provideMerge(Spectral.layer),
  Layer.provideMerge(Stores.ephemeral),
  Layer.orDie
)

describe("the platform's events", () => {
  it.live(
    "SA-17 SA-22 a recorded verdict begins one conversation with the agent, also if it is recorded twice",
    () =>
      Effect.gen(function* () {
        const event = { id: randomUUID(), topic: "verdict.issued", payload: Events.verdictIssued }
        const importer = yield* RecordImporter
        yield* importer.record(tenant, some({ events: [event] }))
        yield* importer.record(tenant, some({ events: [event] }))
        const store = yield* ConversationStore
        const {
          items: [begun]
        } = yield* eventually(store.list({ tenant, limit: 10 }), ({ items }) => items.length > 0)
        assert.deepInclude(begun, { initiated_by: "system", trigger_event_id: event.id })
        const messages = yield* eventually(
          store.messages(tenant, begun!.id, -1, 10),
          (found) => found.length > 1
        )
        assert.deepEqual(
          messages.map(({ role }) => role),
          ["system", "assistant"]
        )
        assert.include(messages[0]!.content, Events.verdictIssued.summary)
      }).pipe(Effect.provide(listening))
  )
})
