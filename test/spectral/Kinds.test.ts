/** The three kinds of agent in one service, over real HTTP: who reaches which, and which way leads from one to another. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Cause, Effect, Exit, Layer, Result } from "effect"
import { HttpServer } from "effect/http"
import * as LocalWorldAgentRunner from "../../layers/spectral/worlds/LocalWorldAgentRunner.ts"
import * as OperationsTools from "../../layers/spectral/agents/OperationsTools.ts"
import * as WorldTools from "../../layers/spectral/worlds/WorldTools.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Platform from "../../layers/compose/assembly/Platform.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as WorldBridge from "../../layers/compose/assembly/WorldBridge.ts"
import * as StoredWorlds from "../../layers/stores/spectral/worlds/StoredWorlds.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as RuntimeConfig from "../../layers/runtime/actor/RuntimeConfig.ts"
import * as LocalAgentDirectory from "../../layers/runtime/directory/LocalAgentDirectory.ts"
import * as LocalToolRegistry from "../../layers/runtime/directory/LocalToolRegistry.ts"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import { RunList } from "../../services/RunList.ts"
import { WorldPublisher } from "../../services/spectral/worlds/WorldPublisher.ts"
import { spectralKinds } from "../../src/spectral/agents/SpectralKinds.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { operations, workspaceOperations } from "../../src/spectral/agents/Operations.ts"
import { spectral_name, spectralAgents } from "../../src/spectral/agents/SpectralAgents.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { AnchorKind, MemorySpec } from "../../src/memory/MemoryAnchors.ts"
import { permissionOf } from "../../src/tool/SideEffects.ts"
import { worldAgents } from "../../src/spectral/worlds/WorldAgent.ts"
import * as H from "../runtime/Harness.ts"
import { credit, privacy } from "../worlds/Worlds.ts"
import { tools } from "./Workspace.ts"

const kinds = Object.values(spectralKinds)

const agents = [
  ...Result.getOrThrow(spectralAgents()),
  ...Result.getOrThrow(worldAgents([credit.world, privacy.world])),
  { ...workspaceOperations, tools: [...workspaceOperations.tools, "ask_world_agent"] }
]

const credentials = (["admin", "operator", "customer"] as const).map((role) => ({
  sha256: createHash("sha256").update(role).digest("hex"),
  principal: H.person(role, [role])
}))

const ports = (script: Script) =>
  LocalWorldAgentRunner.connected.pipe(
    Layer.provideMerge(
      Runtime.layer({
        agents,
        tools: [
          H.toolsOf(tools([])),
          OperationsTools.tools,
          Platform.failureClusters,
          Platform.summary,
          ...Platform.authoring,
          WorldBridge.tools,
          WorldTools.tools(credit.world.world_id),
          WorldTools.tools(privacy.world.world_id)
        ]
      })
    ),
    Layer.provideMerge(ScriptedModelGateway.layer(script)),
    Layer.provideMerge(LocalWorldAgentRunner.layer),
    Layer.provideMerge(
      Layer.effectDiscard(WorldPublisher.use(({ publish }) => publish(H.tenant, credit)))
    ),
    Layer.provideMerge(StoredWorlds.layer),
    Layer.provideMerge(Spectral.layer),
    Layer.provideMerge(Stores.ephemeral),
    Layer.provide(
      Layer.succeed(RuntimeConfig.RuntimeConfig, { ...RuntimeConfig.defaults, drain_ms: 1 })
    )
  )

const served = (script: Script, customer_agents: ReadonlyArray<AgentName> = [spectral_name]) =>
  Server.layer({ listen: { port: 0 }, credentials, settings: { customer_agents } }).pipe(
    Layer.provideMerge(ports(script))
  )

// oxlint-disable-next-line typescript/no-explicit-any -- what a foreign client sees has no type
type Json = any

const ask = Effect.fnUntraced(function* (as: string, path: string, json?: unknown) {
  const { address } = yield* HttpServer.HttpServer
  return yield* Effect.promise(async () => {
    const response = await fetch(`${HttpServer.formatAddress(address)}${path}`, {
      method: json === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${as}`,
        ...(json === undefined ? undefined : { "content-type": "application/json" })
      },
      ...(json === undefined ? undefined : { body: JSON.stringify(json) })
    })
    const body = await response.text()
    const read: Json = JSON.parse(body)
    return { status: response.status, text: body, json: read }
  })
})

describe("the kinds of agent", () => {
  it("SA-01 are three, each with an audience and a scope of its own", () => {
    assert.deepStrictEqual(
      kinds.map(({ name }) => name),
      ["spectral", "world", "operations"]
    )
    assert.strictEqual(new Set(kinds.map(({ audience }) => audience)).size, 3)
    assert.strictEqual(new Set(kinds.map(({ scope }) => scope)).size, 3)
  })

  it.effect("SA-01 keep the memory of an agent to the scope of its kind", () =>
    Effect.gen(function* () {
      for (const kind of kinds) {
        for (const anchor of AnchorKind.literals) {
          const spec = AgentSpec.make({
            name: AgentName.make("a"),
            kind,
            instructions: "Help.",
            memory: MemorySpec.make({ anchor })
          })
          const exit = yield* Effect.exit(
            Effect.scoped(Layer.build(Layer.fresh(LocalAgentDirectory.layer([spec]))))
          )
          assert.strictEqual(Exit.isSuccess(exit), kind.scope === anchor)
          if (Exit.isFailure(exit)) {
            assert.include(String(Cause.squash(exit.cause)), `belongs to its ${kind.scope}`)
          }
        }
      }
    }).pipe(Effect.provide([LocalToolRegistry.layer(), NodeCrypto.layerDigest]))
  )

  it.live("SA-01 are what an admin finds in the list of agents", () =>
    Effect.gen(function* () {
      const { json, status } = yield* ask("admin", "/v1/agents")
      assert.strictEqual(status, 200)
      const items: ReadonlyArray<{ readonly name: string; readonly kind?: string }> = json.items
      assert.lengthOf(items, agents.length)
      assert.deepStrictEqual([...new Set(items.map(({ kind }) => kind))].toSorted(), [
        "operations",
        "spectral",
        "world"
      ])
    }).pipe(Effect.provide(served([])))
  )

  it("SA-46 give operators a table of tools, each with its category", () =>
    Effect.gen(function* () {
      const agent = (yield* AgentDirectory).get("operations")!
      const ask = ["mutate", "ask"]
      const read = ["read", "allow"]
      // A draft is a mutation about which a person is asked when it is published.
      const draft = ["mutate", "allow"]
      assert.deepStrictEqual(
        [...agent.tools.values()].map(({ spec }) => [spec.name, spec.category, permissionOf(spec)]),
        [
          ["list_dlq_events", ...read],
          ["get_dlq_event_detail", ...read],
          ["replay_dlq_event", ...ask],
          ["get_operations_summary", ...read],
          ["list_failure_clusters", ...read],
          ["get_cluster_detail", ...read],
          ["triage_cluster", ...ask],
          ["distill_failure_patterns", ...read],
          ["draft_rubric", ...draft],
          ["draft_system_card", ...draft],
          ["list_drafts", ...read],
          ["get_draft", ...read],
          ["withdraw_draft", ...ask],
          ["publish_draft", ...ask],
          ["get_rubrics", ...read],
          ["get_system_card", ...read],
          ["ask_world_agent", ...read]
        ]
      )
      // What is written is operations state: each tool that writes is of that namespace and of no other.
      for (const { key, spec } of agent.tools.values()) {
        assert.isTrue(spec.category === "read" || key.startsWith("operations."), key)
        // The prompt says when each is used; that of the bridge is added where there are worlds.
        const isTold = agent.spec.instructions.includes(spec.name)
        assert.isTrue(isTold || spec.name === "ask_world_agent", spec.name)
      }
    }).pipe(Effect.provide(ports([])), Effect.scoped, Effect.runPromise))
})

describe("a customer", () => {
  it.live("SA-04 is refused every way to the agent of a world, and finds nothing of it", () =>
    Effect.gen(function* () {
      const begun = yield* ask("operator", "/v1/messages", {
        agent: "world-credit",
        text: "What do you lack?"
      })
      assert.strictEqual(begun.status, 202, begun.text)
      const { conversation_id: conversation, run_id: run } = begun.json
      const message = { agent: "world-credit", text: "hello" }
      const refused = yield* ask("customer", "/v1/messages", message)
      assert.strictEqual(refused.status, 403)
      // It is not told whether there is such an agent.
      const nobody = yield* ask("customer", "/v1/messages", { ...message, agent: "world-nowhere" })
      const { correlation_id: _, ...told } = refused.json
      const { correlation_id: __, ...toldOfNobody } = nobody.json
      assert.deepStrictEqual(told, toldOfNobody)
      const ways: ReadonlyArray<readonly [path: string, status: number, json?: unknown]> = [
        [`/v1/conversations/${conversation}`, 404],
        [`/v1/conversations/${conversation}/events`, 404],
        // As with an agent that is not there, in a conversation that is not there.
        [`/v1/conversations/${conversation}/messages`, 403, message],
        ["/v1/conversations/nowhere/messages", 403, { ...message, agent: "world-nowhere" }],
        [`/v1/conversations/${conversation}/messages`, 404, { agent: "spectral", text: "hi" }],
        [`/v1/runs/${run}`, 403],
        [`/v1/runs/${run}/events`, 403],
        [`/v1/runs/${run}/cancel`, 404, { reason: "no more" }],
        ["/v1/agents", 403],
        ["/v1/runs", 403],
        ["/v1/approvals", 403]
      ]
      for (const [path, status, json] of ways) {
        const answer = yield* ask("customer", path, json)
        assert.strictEqual(answer.status, status, `${path}: ${answer.text}`)
        assert.notInclude(answer.text, "world-credit")
      }
      const { items } = (yield* ask("customer", "/v1/conversations")).json
      assert.deepStrictEqual(items, [])
      // Nor to the Operations Agent, or past the supervisor to one of its specialists.
      for (const agent of ["operations", "scan-analyst", "change-manager"]) {
        const answer = yield* ask("customer", "/v1/messages", { agent, text: "hello" })
        assert.strictEqual(answer.status, 403, agent)
      }
      const own = yield* ask("customer", "/v1/messages", { agent: "spectral", text: "hello" })
      assert.strictEqual(own.status, 202)
    }).pipe(Effect.provide(served(() => text("nothing"))))
  )

  it.live("SA-04 cannot be given the agent of a world, nor that of operators, by a setting", () =>
    Effect.gen(function* () {
      for (const { kind, name } of agents.filter((each) => each.kind?.name !== "spectral")) {
        const wrong = yield* Effect.flip(
          Effect.scoped(Layer.build(served([], [spectral_name, name])))
        )
        assert.deepInclude(wrong, { _tag: "InvalidInput", field: "settings.customer_agents.1" })
        assert.include((wrong as Error).message, `"${kind?.name}"`)
      }
      const embedded: unknown = yield* Effect.promise(() =>
        start({
          agents: [{ ...operations, tools: [] }],
          model: ScriptedModelGateway.layer([]),
          customer_agents: ["operations"]
        }).catch((error) => error)
      )
      assert.deepInclude(embedded as object, { _tag: "InvalidInput", field: "customer_agents.0" })
    })
  )
})

describe("the way from one agent to another", () => {
  it.live("SA-03 is the declared bridge alone: no model can name another agent's mailbox", () => {
    const attempts = ["ask_operations", "ask_spectral", "ask_world-credit", "send", "send_message"]
    return Effect.gen(function* () {
      const runs = yield* RunList
      for (const agent of ["spectral", "world-credit", "operations"]) {
        const begun = yield* ask("admin", "/v1/messages", { agent, text: "Ask the others." })
        const run = begun.json.run_id
        const events = yield* H.ended(run, begun.json.conversation_id)
        const reasons = H.settled(events).map(({ outcome }) =>
          outcome._tag === "Failed" ? outcome.error.reason : outcome._tag
        )
        assert.deepStrictEqual(
          reasons,
          attempts.map(() => "UNKNOWN_TOOL"),
          agent
        )
      }
      // Nobody has heard anything beside these three messages.
      assert.lengthOf(yield* runs.list({ tenant: H.tenant, limit: 50 }), 3)
    }).pipe(
      Effect.provide(
        served(({ step }) =>
          step === 1 ? calls(attempts.map((name) => call(name, { task: "hello" }))) : text("done")
        )
      )
    )
  })

  it("SA-03 leads from a supervisor to its own specialists and from operators over the bridge", () =>
    Effect.gen(function* () {
      const directory = yield* AgentDirectory
      for (const { specialists, spec, tools } of directory.all) {
        for (const name of specialists.values()) {
          assert.strictEqual(directory.get(name)!.spec.kind?.name, spec.kind?.name)
          assert.strictEqual(spec.name, spectral_name)
        }
        assert.strictEqual(tools.has("ask_world_agent"), spec.kind?.name === "operations")
      }
    }).pipe(Effect.provide(ports([])), Effect.scoped, Effect.runPromise))
})
