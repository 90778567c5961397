/** The walks of `npm start` with the Spectral Agent and with a world's agent: their scripts over the real tools and sample records. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import * as Platform from "../../layers/compose/assembly/Platform.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as Worlds from "../../layers/compose/assembly/Worlds.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as RuntimeConfig from "../../layers/runtime/actor/RuntimeConfig.ts"
import { sampleRecords } from "../../scripts/sample/SampleRecords.ts"
import { spectralScript } from "../../scripts/sample/SpectralScript.ts"
import { sampleWorlds } from "../../scripts/sample/SampleWorlds.ts"
import { worldScript } from "../../scripts/sample/WorldScript.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { RuleProposals } from "../../services/spectral/worlds/RuleProposals.ts"
import { WorldPublisher } from "../../services/spectral/worlds/WorldPublisher.ts"
import { spectralAgents } from "../../src/spectral/agents/SpectralAgents.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { Policy } from "../../src/permission/Policy.ts"
import { WorldId } from "../../src/spectral/worlds/contracts/WorldId.ts"
import * as H from "../runtime/Harness.ts"
import { carl, ended, olga, question } from "./Workspace.ts"

const now = Date.UTC(2026, 5, 1)
const worlds = sampleWorlds()
const published = worlds.map(({ world }) => world)

const layer = Runtime.layer({
  agents: [...Result.getOrThrow(spectralAgents()), ...Result.getOrThrow(Worlds.agents(published))],
  tools: [...Platform.tools, ...Worlds.tools(published)],
  policy: Policy.make({ approval_required: ["propose_rule_candidate"] })
}).pipe(
  Layer.provideMerge(
    ScriptedModelGateway.layer((request) => spectralScript(request) ?? worldScript(request))
  ),
  Layer.provide(
    Layer.succeed(RuntimeConfig.RuntimeConfig, { ...RuntimeConfig.defaults, drain_ms: 1 })
  ),
  Layer.provideMerge(
    Layer.effectDiscard(
      Effect.gen(function* () {
        const importer = yield* Platform.RecordImporter
        yield* importer.record(H.tenant, sampleRecords(1, now))
        const { publish } = yield* WorldPublisher
        for (const version of worlds) yield* publish(H.tenant, version)
      })
    )
  ),
  Layer.provideMerge(Spectral.layer),
  Layer.provideMerge(Stores.ephemeral)
)

const say = (agent: string, text: string, by = carl) =>
  Effect.map(
    AgentRuntime.use((runtime) => runtime.send({ agent: AgentName.make(agent), text }, by)),
    ({ task }) => task.id
  )

describe("the walk with the Spectral Agent", () => {
  it.live("hears two specialists on how the systems do, from the records", () =>
    Effect.gen(function* () {
      const events = yield* ended(yield* say("spectral", "How do my systems do?"))
      assert.strictEqual(H.count(events, "FrameOpened"), 2)
      const end = H.end(events)
      assert.deepInclude(end, { status: "complete" })
      assert.match(end!.text, /^The newest finished scan is \S+ of \S+: \d+ of \d+ traces failed\./)
      assert.match(end!.text, /\nThe workspace is (healthy|degraded|unhealthy)/)
    }).pipe(Effect.provide(layer))
  )

  it.live("SA-25 has a schedule changed when the customer agrees, in its name and once", () =>
    Effect.gen(function* () {
      const workspaces = yield* WorkspaceReader
      const before = yield* workspaces.workspace(H.tenant)
      const run = yield* say("spectral", "Scan every week")
      const { approval, payload } = yield* question(run)
      assert.deepInclude(payload, {
        tool_name: "change_configuration",
        agent_name: "change-manager"
      })
      assert.deepEqual(yield* workspaces.workspace(H.tenant), before)
      yield* H.decide(approval, H.approve, carl)
      const end = H.end(yield* ended(run))
      assert.include(end!.text, '"scan_schedule":"weekly"')
      const after = yield* workspaces.workspace(H.tenant)
      assert.strictEqual(after.configuration.scan_schedule, "weekly")
      assert.strictEqual(after.version, before.version + 1)
      assert.strictEqual(after.changed?.by, "carl")
    }).pipe(Effect.provide(layer))
  )

  it.live("changes nothing that the customer denies, and says so", () =>
    Effect.gen(function* () {
      const workspaces = yield* WorkspaceReader
      const before = yield* workspaces.workspace(H.tenant)
      const run = yield* say("spectral", "Scan every hour, please")
      yield* H.decide((yield* question(run)).approval, H.deny, carl)
      const end = H.end(yield* ended(run))
      assert.include(end!.text, "Nothing was changed: carl denied it")
      assert.deepEqual(yield* workspaces.workspace(H.tenant), before)
    }).pipe(Effect.provide(layer))
  )

  it.live("applies no change set that was not reviewed, though the customer agrees", () =>
    Effect.gen(function* () {
      const { changesets } = sampleRecords(1, now)
      for (const status of ["proposed", "approved"] as const) {
        const found = changesets.find(({ state }) => state.status === status)
        assert.isDefined(found, status)
        const run = yield* say("spectral", `Apply ${found!.changeset.changeset_id}`)
        yield* H.decide((yield* question(run)).approval, H.approve, carl)
        const end = H.end(yield* ended(run))
        const begins = status === "approved" ? "The change set is applied" : "Nothing was changed"
        assert.include(end!.text, begins)
      }
    }).pipe(Effect.provide(layer))
  )
})

describe("the walk with a world's agent", () => {
  it.live("queues a rule candidate once an operator has approved it", () =>
    Effect.gen(function* () {
      const world = WorldId.make("advertising")
      const queued = RuleProposals.use((queue) => queue.open(H.tenant, world, 10))
      const run = yield* say("world-advertising", "Propose a rule", olga)
      const { approval, payload } = yield* question(run)
      assert.strictEqual(payload.tool_name, "propose_rule_candidate")
      assert.deepStrictEqual(yield* queued, [])
      yield* H.decide(approval, H.approve, olga)
      assert.include(H.end(yield* ended(run))!.text, "People decide about it; no rule has changed.")
      assert.lengthOf(yield* queued, 1)
    }).pipe(Effect.provide(layer))
  )
})
