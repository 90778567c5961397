/** The platform beside a runtime: what asks a person, and what follows from an event of another context. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Stream } from "effect"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Platform from "../../layers/compose/assembly/Platform.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { ChangesetStore } from "../../services/spectral/platform/contracts/ChangesetStore.ts"
import { FailureClusterReader } from "../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { DraftStore } from "../../services/spectral/platform/contracts/DraftStore.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { WorkspaceSettings } from "../../services/spectral/platform/WorkspaceSettings.ts"
import { WorldViews } from "../../services/spectral/platform/WorldViews.ts"
import { WorldPublisher } from "../../services/spectral/worlds/WorldPublisher.ts"
import { WorldReader } from "../../services/spectral/worlds/WorldReader.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Decision } from "../../src/approval/Approval.ts"
import { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import { Policy } from "../../src/permission/Policy.ts"
import { FrameworkId } from "../../src/spectral/platform/contracts/Fact.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { world_published_topic } from "../../src/spectral/worlds/contracts/WorldVersionPublished.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Samples from "../contracts/Samples.ts"
import { engines } from "../sql/Engines.ts"
import { credit } from "../worlds/Worlds.ts"
import { sample } from "./Records.ts"

const tenant = Tenant.make("acme")
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })
const ann = new Principal({ id: "ann", tenant, roles: ["approver"] })
const conversation = ConversationId.make("c-1")
const worker = AgentName.make("worker")

const spec = AgentSpec.make({
  name: worker,
  instructions: "Work.",
  tools: [
    ...Platform.failure_cluster_tools,
    ...Platform.authoring_tools,
    "apply_changeset",
    "update_framework",
    "change_configuration",
    "get_world_model_context"
  ]
})

/** Calls the tool with these arguments once, and says what it gave. */
const calling =
  (name: string, args: Record<string, string | number>): ScriptedModelGateway.Script =>
  ({ transcript }) => {
    const last = transcript.at(-1)
    return last?.role === "user"
      ? ScriptedModelGateway.call(name, args)
      : ScriptedModelGateway.text(JSON.stringify(last))
  }

/** It would let a publication pass, if the tool did not ask by itself. */
const policy = Policy.make({
  rules: [{ pattern: "publish_draft", permission: "allow" }]
})

const runtime = (model: ScriptedModelGateway.Script) =>
  Runtime.layer({
    agents: [spec],
    tools: Platform.tools,
    policy,
    deliveries: [Platform.worldViews]
  }).pipe(Layer.provide(ScriptedModelGateway.layer(model)))

/** The context of worlds, whose reader nobody may ask anything. */
const unasked = Layer.effect(
  WorldReader,
  Effect.sync(() => {
    const asked = () => Effect.die(new Error("the world's context was asked"))
    return WorldReader.of({
      worlds: asked,
      world: asked,
      rules: asked,
      rulePage: asked,
      rule: asked,
      evalSets: asked
    })
  })
)

const inMemory = (model: ScriptedModelGateway.Script) =>
  runtime(model).pipe(
    Layer.provideMerge(Spectral.layer),
    Layer.provideMerge(unasked),
    Layer.provideMerge(Stores.ephemeral),
    Layer.orDie
  )

const inSql = (model: ScriptedModelGateway.Script, client: (typeof engines)[number][1]) =>
  runtime(model).pipe(
    Layer.provideMerge(Spectral.layer),
    Layer.provideMerge(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provideMerge(SqlStores.layer),
    Layer.provideMerge(client),
    Layer.orDie
  )

type Services = Layer.Success<ReturnType<typeof inMemory>>

type Body = Effect.Effect<void, unknown, Services>

const filled = (body: Body) =>
  Effect.andThen(
    RecordImporter.use((importer) => importer.record(tenant, sample)),
    body
  )

const test = (title: string, model: ScriptedModelGateway.Script, body: Body) =>
  it.live(title, () => Effect.provide(filled(body), inMemory(model)))

/** The same where what the tool writes commits with the journal's event. */
const testOnAll = (title: string, model: ScriptedModelGateway.Script, body: Body) => {
  test(title, model, body)
  for (const [engine, client] of engines) {
    it.live(`${title} (${engine})`, () => Effect.provide(filled(body), inSql(model, client)))
  }
}

const send = AgentRuntime.use((it) =>
  it.send({ agent: worker, conversation, text: "Do it." }, olga)
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

/** Sends, decides what is asked, and gives what was shown and how it ended. */
const decided = Effect.fnUntraced(function* (decision: Decision) {
  const run = yield* send
  const desk = yield* ApprovalDesk
  const [approval] = yield* eventually(desk.pending(ann, 10), (all) => all.length === 1)
  yield* desk.decide(approval!.id, decision, ann)
  return { shown: approval!.payload, text: yield* said(run) }
})

const approve: Decision = { _tag: "Approve" }
const deny: Decision = { _tag: "Deny", reason: "not now" }

const cluster = FailureClusterReader.use((reader) => reader.cluster(tenant, "rude"))
const change = ChangesetStore.use((store) => store.changeset(tenant, "change-1"))
const workspace = WorkspaceReader.use((reader) => reader.workspace(tenant))

const triaging = calling("triage_cluster", {
  cluster_id: "rude",
  status: "resolved",
  notes: "The tone was changed."
})

describe("triage_cluster in a run", () => {
  testOnAll(
    "ST-49 approved, it changes what operators manage and nothing that was found",
    triaging,
    Effect.gen(function* () {
      const before = yield* cluster
      const { shown, text } = yield* decided(approve)
      assert.strictEqual(shown.tool_name, "triage_cluster")
      assert.include(text, "resolved")
      const after = yield* cluster
      assert.deepEqual(after.cluster, before.cluster)
      assert.deepInclude(after.triage, {
        status: "resolved",
        notes: "The tone was changed.",
        triaged_by: "ann"
      })
    })
  )

  test(
    "ST-49 denied, it changes nothing",
    triaging,
    Effect.gen(function* () {
      const before = yield* cluster
      yield* decided(deny)
      assert.deepEqual(yield* cluster, before)
    })
  )
})

describe("a change of a workspace in a run", () => {
  testOnAll(
    "SA-27 the approval of the call is not the review of the change set: it is applied only after both",
    calling("apply_changeset", { changeset_id: "change-1" }),
    Effect.gen(function* () {
      const early = yield* decided(approve)
      assert.include(early.text, "CHANGE_REFUSED")
      assert.deepEqual((yield* change).state, { status: "proposed" })
      const store = yield* ChangesetStore
      yield* store.review(tenant, "change-1", { decision: "approved", note: "", by: "rita" })
      const denied = yield* decided(deny)
      assert.notInclude(denied.text, "applied")
      assert.strictEqual((yield* change).state.status, "approved")
      yield* decided(approve)
      const { applied, reviewed } = (yield* change).state
      assert.deepEqual([reviewed?.by, applied?.by], ["rita", "ann"])
    })
  )

  test(
    "a change of the configuration is made on the version that was seen, and not a second time",
    calling("change_configuration", { version: 1, scan_schedule: "off", reason: "A pause." }),
    Effect.gen(function* () {
      const denied = yield* decided(deny)
      assert.strictEqual(denied.shown.tool_name, "change_configuration")
      assert.strictEqual((yield* workspace).version, 1)
      yield* decided(approve)
      assert.deepInclude((yield* workspace).configuration, { scan_schedule: "off" })
      const late = yield* decided(approve)
      assert.include(late.text, "CHANGE_REFUSED")
      assert.strictEqual((yield* workspace).version, 2)
    })
  )
})

const framework = WorkspaceReader.use((reader) => reader.framework(tenant, "support"))

/** A draft that waits, written by another run. */
const drafted = DraftStore.use((store) =>
  store.write(
    tenant,
    {
      kind: "rubric",
      framework_id: FrameworkId.make("support"),
      rubric_id: "tone",
      title: "A stricter tone",
      threshold: 0.7
    },
    { run: "run-1", call: "0/1.0", principal: "olga" }
  )
)

const publication = {
  draft_id: "draft-1",
  target_id: "tone",
  based_on: 1,
  reason: "Agreed on Monday."
}

describe("a draft in a run", () => {
  testOnAll(
    "SA-46 is written without a question, once for its call, and says which run wrote it",
    calling("draft_system_card", {
      system_id: "support-bot",
      title: "Its owner",
      owner: "Customer support"
    }),
    Effect.gen(function* () {
      const run = yield* send
      assert.include(yield* said(run), "draft-1")
      const drafts = yield* DraftStore.use((store) => store.drafts(tenant, { limit: 10 }))
      assert.lengthOf(drafts, 1)
      assert.deepEqual(drafts[0]!.author, { run, call: "0/1.0", principal: "olga" })
      const desk = yield* ApprovalDesk
      assert.deepEqual(yield* desk.pending(ann, 10), [])
    })
  )

  testOnAll(
    "SA-46 is published after an approval alone, whatever the policy says, and not a second time",
    calling("publish_draft", publication),
    Effect.gen(function* () {
      yield* drafted
      const denied = yield* decided(deny)
      assert.deepInclude(denied.shown, { tool_name: "publish_draft", agent_name: worker })
      for (const part of ["draft-1", "tone", "Agreed on Monday."]) {
        assert.include(denied.shown.args_summary, part)
      }
      assert.strictEqual((yield* framework).version, 1)
      const { text } = yield* decided(approve)
      assert.include(text, String.raw`\"published_by\":\"ann\"`)
      const after = yield* framework
      assert.deepInclude(after.revisions[1], { version: 2, by: "ann" })
      assert.include((yield* decided(approve)).text, "CHANGE_REFUSED")
      assert.deepEqual(yield* framework, after)
    })
  )

  testOnAll(
    "a publication that was asked about before its target changed is refused after the approval",
    calling("publish_draft", publication),
    Effect.gen(function* () {
      yield* drafted
      const run = yield* send
      const desk = yield* ApprovalDesk
      const [question] = yield* eventually(desk.pending(ann, 10), (all) => all.length === 1)
      const change = { framework_id: FrameworkId.make("support"), version: 1, reason: "Now." }
      const rubrics = [{ rubric_id: "tone", enabled: false }]
      yield* WorkspaceSettings.use((settings) =>
        settings.updateFramework(tenant, { ...change, rubrics }, "cara")
      )
      const before = yield* framework
      yield* desk.decide(question!.id, approve, ann)
      const text = yield* said(run)
      assert.include(text, "CHANGE_REFUSED")
      assert.include(text, "the framework support is at revision 2")
      assert.deepEqual(yield* framework, before)
      const draft = yield* DraftStore.use((store) => store.draft(tenant, "draft-1"))
      assert.deepEqual(draft.state, { status: "draft" })
    })
  )
})

describe("the platform's view of worlds", () => {
  test(
    "ST-42 follows the events of published versions, and no call is made",
    calling("get_world_model_context", { world_id: "credit" }),
    Effect.gen(function* () {
      const views = yield* WorldViews
      const publisher = yield* WorldPublisher
      assert.propertyVal(yield* Effect.flip(views.view(tenant, "credit")), "kind", "world")
      yield* publisher.publish(tenant, credit)
      yield* eventually(Effect.option(views.view(tenant, "credit")), Option.isSome)
      const next = { ...credit, world: { ...credit.world, version: 2 }, eval_sets: [] }
      yield* publisher.publish(tenant, next)
      yield* eventually(views.view(tenant, "credit"), ({ version }) => version === 2)
      const text = yield* Effect.flatMap(send, said)
      assert.include(text, "Judges offers of consumer credit.")
      assert.include(text, String.raw`\"version\":2`)
      const other = Tenant.make("other")
      assert.propertyVal(yield* Effect.flip(views.view(other, "credit")), "_tag", "RecordNotFound")
    })
  )

  test(
    "ST-42 an event that is none is a dead letter and changes no view",
    calling("get_world_model_context", { world_id: "credit" }),
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const reader = yield* OutboxReader
      const payload = { world_id: "credit", version: 1, agent_state: "secret" }
      const message = Samples.outboxMessage({ tenant, topic: world_published_topic, payload })
      yield* outbox.enqueue([message])
      const letter = yield* eventually(
        reader.deadLetters({ tenant, limit: 10 }),
        (all) => all.length === 1
      )
      assert.strictEqual(letter[0]!.event_id, message.id)
      assert.strictEqual(letter[0]!.attempts, 1)
      const views = yield* WorldViews
      assert.propertyVal(yield* Effect.flip(views.view(tenant, "credit")), "kind", "world")
    })
  )
})
