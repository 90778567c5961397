/** A call in a queue whose runtime is gone, or no longer waits for it. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import * as RuntimeConfig from "../../layers/runtime/actor/RuntimeConfig.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { ToolTransientError } from "../../src/error/ToolError.ts"
import { CallId } from "../../src/value/Ids.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "../runtime/Harness.ts"

const key = "t.pay@1"
const pay = { namespace: "t", name: "pay", side_effects: "external", timeout_ms: 600 } as const

const runtime = (permission: "allow" | "ask" = "allow") =>
  Runtime.layer({
    agents: [AgentSpec.make({ name: H.agentName, instructions: "Test.", tools: [key] })],
    tools: [remote({ ...pay, permission })]
  }).pipe(
    Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provide(
      ScriptedModelGateway.layer(({ step }) =>
        step === 1 ? ScriptedModelGateway.call("pay") : ScriptedModelGateway.text("Done.")
      )
    ),
    Layer.provide(
      Layer.succeed(RuntimeConfig.RuntimeConfig, {
        ...RuntimeConfig.defaults,
        lease_ms: 1_000,
        drain_ms: 0
      })
    )
  )

const boot = Effect.fnUntraced(function* (permission?: "allow" | "ask") {
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const context = yield* Layer.buildWithMemoMap(
    runtime(permission),
    Layer.makeMemoMapUnsafe(),
    scope
  )
  return {
    run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provide(effect, context),
    stop: Scope.close(scope, Exit.void)
  }
})

const worker = (body: Effect.Effect<string, ToolError>) => {
  let bodies = 0
  const declared = tool({ ...pay, permission: "allow", timeout_ms: 5_000 }, () => {
    bodies++
    return body
  })
  return { layer: ToolWorker.layer({ tools: [declared] }), bodies: () => bodies }
}

/** A run whose call was sent to the queue by a runtime that is gone. */
const sent = Effect.gen(function* () {
  const gone = yield* boot()
  const run = yield* gone.run(H.send("go"))
  yield* gone.run(H.happened(run, "CallDispatched"))
  return { gone, run }
})

const busy = new ToolTransientError({ kind: "external", message: "busy" })

const held: ReadonlyArray<
  readonly [title: string, body: Effect.Effect<string, ToolError>, outcome: object]
> = [
  [
    "has the result that the queue holds",
    Effect.succeed("paid"),
    { _tag: "Value", json: '"paid"' }
  ],
  [
    "has the failure that the queue holds, also where that is transient",
    Effect.fail(busy),
    { _tag: "Failed", "error.class": "ToolTransientError", "error.message": "busy" }
  ]
]

describe("a call whose runtime is gone", () => {
  for (const [title, body, outcome] of held) {
    it.live(title, () => {
      const { bodies, layer } = worker(body)
      return Effect.gen(function* () {
        const queue = yield* ToolQueue
        const { gone, run } = yield* sent
        const [claimed] = yield* eventually(
          queue.claim({ owner: "busy", tools: [key], limit: 1, lease_ms: 1 }),
          (all) => all.length === 1
        )
        // A worker has claimed it, so it is not withdrawn when its runtime stops.
        yield* gone.stop
        yield* Layer.build(layer)
        yield* queue.awaited(claimed!.id)
        const next = yield* boot()
        const all = yield* next.run(H.ended(run))
        assert.deepNestedInclude(H.outcome(all), outcome)
        assert.strictEqual(bodies(), 1)
        assert.strictEqual(H.count(all, "CallUnknown"), 0)
      }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
    })
  }

  it.live("is sent again where it was withdrawn", () => {
    const { bodies, layer } = worker(Effect.succeed("paid"))
    return Effect.gen(function* () {
      const queue = yield* ToolQueue
      const { gone, run } = yield* sent
      yield* eventually(queue.nextDueAt([key]), (due) => due !== undefined)
      yield* gone.stop
      assert.isUndefined(yield* queue.nextDueAt([key]))
      yield* Layer.build(layer)
      const next = yield* boot()
      const all = yield* next.run(H.ended(run))
      assert.deepStrictEqual<Outcome | undefined>(H.outcome(all), { _tag: "Value", json: '"paid"' })
      assert.strictEqual(bodies(), 1)
      // It was sent to the queue twice, under one key, and its body ran once.
      const dispatched = all.filter((event) => event._tag === "CallDispatched")
      assert.deepStrictEqual(
        dispatched.map(({ key, via }) => [key, via]),
        [
          [dispatched[0]!.key, "queue"],
          [dispatched[0]!.key, "queue"]
        ]
      )
    }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
  })

  it.live("is waited for while its worker runs it, and is unknown after that", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const { gone, run } = yield* sent
      yield* eventually(
        queue.claim({ owner: "busy", tools: [key], limit: 1, lease_ms: 60_000 }),
        (all) => all.length === 1
      )
      yield* gone.stop
      const next = yield* boot()
      yield* next.run(H.happened(run, "CallUnknown"))
      assert.strictEqual(
        (yield* H.events(run)).filter((e) => e._tag === "CallDispatched").length,
        1
      )
    }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
  )
})

it.live(
  "a call that is sent again under another approval has the result that was published meanwhile",
  () => {
    const gate = Deferred.makeUnsafe<void>()
    const { bodies, layer } = worker(Effect.as(Deferred.await(gate), "paid"))
    return Effect.gen(function* () {
      yield* Layer.build(layer)
      const one = yield* boot("ask")
      const run = yield* one.run(H.send("go"))
      yield* one.run(Effect.flatMap(H.question(run), (it) => H.decide(it.approval, H.approve)))
      yield* one.run(H.happened(run, "CallUnknown"))
      yield* Deferred.succeed(gate, undefined)
      const again = { _tag: "RunAgain" } as const
      yield* one.run(
        AgentRuntime.use((runtime) => runtime.settle(run, CallId.make("0/1.0"), again, H.alice))
      )
      const bob = H.person("bob", ["admin"])
      yield* one.run(
        Effect.flatMap(H.question(run, 2), (it) => H.decide(it.approval, H.approve, bob))
      )
      const all = yield* one.run(H.ended(run))
      assert.deepStrictEqual<Outcome | undefined>(H.outcome(all), { _tag: "Value", json: '"paid"' })
      assert.strictEqual(bodies(), 1)
    }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
  }
)
