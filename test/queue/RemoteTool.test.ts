/** A tool whose body runs in a worker: for its run a governed tool like any other. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import type * as LocalToolRegistry from "../../layers/runtime/directory/LocalToolRegistry.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import { StoreError } from "../../services/StoreError.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ToolTransientError, ToolUserError } from "../../src/error/ToolError.ts"
import type { CallContext } from "../../src/tool/GovernedTool.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "../runtime/Harness.ts"

const day = {
  namespace: "t",
  name: "day",
  side_effects: "read",
  input: Schema.Struct({ at: Schema.DateFromString }),
  output: Schema.Struct({ next: Schema.DateFromString })
} as const
const pay = { namespace: "t", name: "pay", side_effects: "external", timeout_ms: 4_000 } as const
const send = { ...pay, name: "send", permission: "allow" } as const
const again = { ...send, name: "again", idempotent: true } as const

const config: ToolQueueConfig = {
  concurrency: 3,
  deliveries_max: 3,
  ack_wait_ms: 300,
  backoff_ms: [20],
  message_ms_max: 5_000,
  sweep_ms: 50,
  stop_ms: 1_000,
  offer_ms: 60_000,
  show_ms: 1,
  result_ms: 60_000
}

const worker = (...tools: ReadonlyArray<LocalToolRegistry.Family<unknown, never>>) =>
  ToolWorker.layer({ tools }).pipe(Layer.provide(Layer.succeed(ToolQueueConfig, config)))

const runtime = (
  options: ReadonlyArray<Parameters<typeof remote>[0]>,
  ...calls: ReadonlyArray<readonly [string, object]>
) =>
  Runtime.layer({
    agents: [
      AgentSpec.make({
        name: H.agentName,
        instructions: "Test.",
        tools: options.map(({ name }) => `t.${name}@1`)
      })
    ],
    tools: options.map(remote)
  }).pipe(
    Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provide(
      ScriptedModelGateway.layer([
        ...calls.map(([name, args]) => ScriptedModelGateway.call(name, args as never)),
        ScriptedModelGateway.text("Done.")
      ])
    ),
    Layer.provideMerge(EphemeralStores.layer)
  )

it.live("a call and its result travel as JSON, and the worker decodes them", () =>
  Effect.gen(function* () {
    const seen: Array<unknown> = []
    const body = tool(day, ({ at }, call) => {
      seen.push(at instanceof Date, call.principal, call.tenant, call.call)
      return { next: new Date(at.getTime() + 86_400_000) }
    })
    yield* Effect.gen(function* () {
      yield* Layer.build(worker(body))
      const events = yield* Effect.flatMap(H.send("go"), (run) => H.ended(run))
      const [first, second] = H.settled(events)
      assert.deepStrictEqual(first?.outcome, {
        _tag: "Value",
        json: `{"next":"2026-01-02T00:00:00.000Z"}`
      })
      assert.deepNestedInclude(second?.outcome, { "error.kind": "invalid_args" })
      assert.deepStrictEqual(seen, [true, "alice", "acme", "0/1.0"])
    }).pipe(
      Effect.provide(
        runtime([day], ["day", { at: "2026-01-01T00:00:00.000Z" }], ["day", { at: 7 }])
      )
    )
  }).pipe(Effect.scoped)
)

it.live(
  "a call is approved here, the worker knows by whom, and the body has the key of the journal",
  () =>
    Effect.gen(function* () {
      const seen: Array<CallContext> = []
      const body = tool(pay, (_, call) => {
        seen.push(call)
        return "paid"
      })
      yield* Effect.gen(function* () {
        yield* Layer.build(worker(body))
        const run = yield* H.send("go")
        const question = yield* H.question(run)
        assert.strictEqual(seen.length, 0)
        yield* H.decide(question.approval, H.approve)
        const events = yield* H.ended(run)
        assert.deepStrictEqual(H.outcome(events), { _tag: "Value", json: `"paid"` })
        const dispatched = events.find((event) => event._tag === "CallDispatched")
        assert.deepInclude(seen[0], { run, approved_by: "alice", key: dispatched!.key })
        assert.strictEqual(seen.length, 1)
      }).pipe(Effect.provide(runtime([pay], ["pay", {}])))
    }).pipe(Effect.scoped)
)

it.live("a failure of the body reaches the run with its class, kind, reason and wait", () =>
  Effect.gen(function* () {
    const errors = [
      new ToolUserError({ kind: "not_found", reason: "GONE", message: "no such order" }),
      new ToolTransientError({ kind: "external", message: "busy", retry_after_ms: 70 })
    ]
    const body = tool(send, () => Effect.fail(errors.shift()!))
    yield* Effect.gen(function* () {
      yield* Layer.build(worker(body))
      const events = yield* Effect.flatMap(H.send("go"), (run) => H.ended(run))
      const failures = H.settled(events).map(({ outcome }) => outcome)
      assert.deepNestedInclude(failures[0], {
        "error.class": "ToolUserError",
        "error.kind": "not_found",
        "error.reason": "GONE",
        "error.message": "no such order"
      })
      assert.deepNestedInclude(failures[1], {
        "error.class": "ToolTransientError",
        "error.retry_after_ms": 70
      })
    }).pipe(Effect.provide(runtime([send], ["send", {}], ["send", {}])))
  }).pipe(Effect.scoped)
)

it.live(
  "a call that no worker claims in time is withdrawn, and the run knows that nothing was done",
  () =>
    Effect.gen(function* () {
      const events = yield* Effect.flatMap(H.send("go"), (run) => H.ended(run))
      assert.deepNestedInclude(H.outcome(events), { _tag: "Failed", "error.reason": "NO_WORKER" })
      assert.isUndefined(yield* ToolQueue.use((queue) => queue.nextDueAt(["t.send@1"])))
    }).pipe(Effect.provide(runtime([{ ...send, timeout_ms: 200 }], ["send", {}])))
)

it.live("a write that waits for a worker is taken back when its run is cancelled", () =>
  Effect.gen(function* () {
    const run = yield* H.send("go")
    const queue = yield* ToolQueue
    yield* eventually(queue.nextDueAt(["t.send@1"]), (due) => due !== undefined)
    yield* AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "no"))
    const events = yield* H.ended(run)
    assert.deepNestedInclude(H.outcome(events), { _tag: "Failed", "error.reason": "TAKEN_BACK" })
    assert.isUndefined(yield* queue.nextDueAt(["t.send@1"]))
  }).pipe(Effect.provide(runtime([{ ...send, timeout_ms: 60_000 }], ["send", {}])))
)

it.live(
  "a write that a worker began and did not end in time is unknown, and waits for an operator",
  () =>
    Effect.gen(function* () {
      let bodies = 0
      const body = tool(send, () => Effect.suspend(() => (bodies++, Effect.never)))
      yield* Effect.gen(function* () {
        yield* Layer.build(worker(body))
        const run = yield* H.send("go")
        yield* H.happened(run, "CallUnknown")
        assert.strictEqual(bodies, 1)
      }).pipe(Effect.provide(runtime([{ ...send, timeout_ms: 300 }], ["send", {}])))
    }).pipe(Effect.scoped)
)

it.live(
  "a call whose outcome its worker does not know is sent again only where the tool is idempotent",
  () =>
    Effect.gen(function* () {
      const keys: Array<string | undefined> = []
      // The first body is interrupted together with its delivery, after it has begun.
      const body = tool(again, (_, { key }) =>
        Effect.suspend(() => (keys.push(key) === 1 ? Effect.interrupt : Effect.succeed("done")))
      )
      yield* Effect.gen(function* () {
        yield* Layer.build(worker(body))
        const events = yield* Effect.flatMap(H.send("go"), (run) => H.ended(run))
        assert.deepStrictEqual(H.outcome(events), { _tag: "Value", json: `"done"` })
        assert.strictEqual(keys.length, 2)
        assert.strictEqual(new Set(keys).size, 1)
      }).pipe(Effect.provide(runtime([again], ["again", {}])))
    }).pipe(Effect.scoped)
)

it.live("a call that one end may repeat and the other may not is refused, and no body runs", () =>
  Effect.gen(function* () {
    let bodies = 0
    const body = tool({ ...send, side_effects: "read" }, () => ++bodies)
    yield* Effect.gen(function* () {
      yield* Layer.build(worker(body))
      const events = yield* Effect.flatMap(H.send("go"), (run) => H.ended(run))
      const unlike = { _tag: "Failed", "error.reason": "DECLARED_UNLIKE" }
      assert.deepNestedInclude(H.outcome(events), unlike)
      assert.strictEqual(bodies, 0)
    }).pipe(Effect.provide(runtime([send], ["send", {}])))
  }).pipe(Effect.scoped)
)

it.live("a queue that does not answer makes a write unknown and fails a read", () =>
  Effect.gen(function* () {
    const away = Layer.effect(
      ToolQueue,
      Effect.map(ToolQueue, (queue) => ({
        ...queue,
        send: () => Effect.fail(new StoreError({ message: "away" })),
        status: () => Effect.fail(new StoreError({ message: "away" }))
      }))
    ).pipe(Layer.provide(EphemeralToolQueue.layer))
    const layer = Runtime.layer({
      agents: [AgentSpec.make({ name: H.agentName, instructions: "", tools: ["day", "send"] })],
      tools: [remote(day), remote({ ...send, timeout_ms: 100 })]
    }).pipe(
      Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
      Layer.provide(
        ScriptedModelGateway.layer([
          ScriptedModelGateway.call("day", { at: "2026-01-01T00:00:00.000Z" }),
          ScriptedModelGateway.call("send")
        ])
      ),
      Layer.provide(away),
      Layer.provideMerge(EphemeralStores.layer)
    )
    yield* Effect.gen(function* () {
      const run = yield* H.send("go")
      yield* H.happened(run, "CallUnknown")
      const [first] = H.settled(yield* H.events(run))
      assert.deepNestedInclude(first?.outcome, {
        "error.class": "ToolTransientError",
        "error.kind": "network"
      })
    }).pipe(Effect.provide(layer))
  })
)
