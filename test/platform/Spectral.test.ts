/** The Spectral Agent over the platform's own tools: what its specialists read, and what its customer is asked. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Result, Stream } from "effect"
import * as Platform from "../../layers/compose/assembly/Platform.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { ChangesetStore } from "../../services/spectral/platform/contracts/ChangesetStore.ts"
import { WorkspaceSettings } from "../../services/spectral/platform/WorkspaceSettings.ts"
import { RecordImporter } from "../../services/spectral/platform/RecordImporter.ts"
import { spectral_name, spectralAgents } from "../../src/spectral/agents/SpectralAgents.ts"
import { ConversationId, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { eventually } from "../contracts/Contract.ts"
import { sample } from "./Records.ts"

const tenant = Tenant.make("acme")
const carl = new Principal({ id: "carl", tenant, roles: ["customer"] })
const ann = new Principal({ id: "ann", tenant, roles: ["approver"] })

/** What the last tool of the frame gave, as a text. */
const told = ({ transcript }: ModelRequest): string | undefined => {
  const last = transcript.at(-1)
  return last?.role === "tool" ? JSON.stringify(last.outcome) : undefined
}

const tasks: Readonly<Record<string, ReturnType<typeof ScriptedModelGateway.call>>> = {
  "scan-analyst": ScriptedModelGateway.call("get_scan_scores", { scan_id: "scan-3" }),
  "change-manager": ScriptedModelGateway.call("apply_changeset", { changeset_id: "change-1" })
}

/** The supervisor asks one specialist; the specialist uses one tool; each says what it was told. */
const over = (specialist: string) =>
  Runtime.layer({
    agents: Result.getOrThrow(spectralAgents()),
    tools: Platform.tools
  }).pipe(
    Layer.provide(
      ScriptedModelGateway.layer((request) => {
        const said = told(request)
        if (said !== undefined) return ScriptedModelGateway.text(said)
        return request.agent === spectral_name
          ? ScriptedModelGateway.call(`ask_${specialist}`, { task: "find out" })
          : tasks[request.agent]!
      })
    ),
    Layer.provideMerge(Spectral.layer),
    Layer.provideMerge(Stores.ephemeral),
    Layer.orDie
  )

const send = Effect.gen(function* () {
  yield* RecordImporter.use((importer) => importer.record(tenant, sample))
  const { task } = yield* AgentRuntime.use((it) =>
    it.send({ agent: spectral_name, text: "Please." }, carl)
  )
  return task
})

const said = (conversation: ConversationId) =>
  AgentRuntime.use((it) =>
    it.watch(conversation, { ordinal: 0, seq: -1 }, ann).pipe(
      Stream.flatMap((item) =>
        item._tag === "Event" && item.entry.event._tag === "RunEnded"
          ? Stream.succeed(item.entry.event.text ?? "")
          : Stream.empty
      ),
      Stream.runHead,
      Effect.map(Option.getOrThrow)
    )
  )

describe("the Spectral Agent over the platform's tools", () => {
  it.live("SA-09 answers from what a specialist read of the workspace", () =>
    Effect.gen(function* () {
      const { conversation } = yield* send
      const text = yield* said(conversation)
      assert.include(text, "groundedness")
      assert.include(text, "0.7")
    }).pipe(Effect.provide(over("scan-analyst")))
  )

  it.live("SA-25 asks the customer before a change set is applied, and says who agreed", () =>
    Effect.gen(function* () {
      const store = yield* ChangesetStore
      const { conversation } = yield* send
      yield* store.review(tenant, "change-1", { decision: "approved", note: "", by: "rita" })
      const desk = yield* ApprovalDesk
      const [approval] = yield* eventually(desk.pending(ann, 10), (all) => all.length === 1)
      assert.deepEqual(approval!.approvers, ["customer", "approver", "operator"])
      assert.strictEqual((yield* store.changeset(tenant, "change-1")).state.status, "approved")
      yield* desk.decide(approval!.id, { _tag: "Approve" }, carl)
      assert.include(yield* said(conversation), "applied")
      const { applied, status } = (yield* store.changeset(tenant, "change-1")).state
      assert.deepEqual([status, applied?.by], ["applied", "carl"])
    }).pipe(Effect.provide(over("change-manager")))
  )
})

const setMode = (version: number, autonomy_mode: "observe_only" | "propose", of = tenant) =>
  WorkspaceSettings.use((settings) =>
    settings.changeConfiguration(of, { version, autonomy_mode, reason: "A test." }, "olga")
  )

const reviewed = ChangesetStore.use((store) =>
  store.review(tenant, "change-1", { decision: "approved", note: "", by: "rita" })
)

const statusNow = ChangesetStore.use((store) =>
  Effect.map(store.changeset(tenant, "change-1"), ({ state }) => state.status)
)

const prepared = Effect.gen(function* () {
  yield* RecordImporter.use((importer) => importer.record(tenant, sample))
  yield* reviewed
})

const asks = AgentRuntime.use((it) =>
  it.send({ agent: spectral_name, text: "Please." }, carl)
).pipe(Effect.map(({ task }) => task.conversation))

describe("a workspace's autonomy mode", () => {
  it.live("SA-25 observe_only refuses a change set before anybody is asked", () =>
    Effect.gen(function* () {
      yield* prepared
      yield* setMode(1, "observe_only")
      const text = yield* said(yield* asks)
      assert.include(text, "ToolPolicyError")
      assert.include(text, "WORKSPACE_OBSERVES_ONLY")
      assert.strictEqual(yield* statusNow, "approved")
    }).pipe(Effect.timeout("20 seconds"), Effect.provide(over("change-manager")))
  )

  it.live("SA-25 observe_only that came after the question refuses the approved change set", () =>
    Effect.gen(function* () {
      yield* prepared
      const conversation = yield* asks
      const desk = yield* ApprovalDesk
      const [approval] = yield* eventually(desk.pending(ann, 10), (all) => all.length === 1)
      yield* setMode(1, "observe_only")
      yield* desk.decide(approval!.id, { _tag: "Approve" }, carl)
      assert.include(yield* said(conversation), "WORKSPACE_OBSERVES_ONLY")
      assert.strictEqual(yield* statusNow, "approved")
    }).pipe(Effect.timeout("20 seconds"), Effect.provide(over("change-manager")))
  )

  it.live("SA-25 of another tenant, and one that was left again, refuse nothing", () =>
    Effect.gen(function* () {
      const other = Tenant.make("other")
      yield* prepared
      yield* RecordImporter.use((importer) => importer.record(other, sample))
      yield* setMode(1, "observe_only", other)
      yield* setMode(1, "observe_only")
      yield* setMode(2, "propose")
      const conversation = yield* asks
      const desk = yield* ApprovalDesk
      const [approval] = yield* eventually(desk.pending(ann, 10), (all) => all.length === 1)
      yield* desk.decide(approval!.id, { _tag: "Approve" }, carl)
      assert.include(yield* said(conversation), "applied")
      assert.strictEqual(yield* statusNow, "applied")
    }).pipe(Effect.timeout("20 seconds"), Effect.provide(over("change-manager")))
  )
})
