/** What a worker does with calls from the queue: execute, publish, acknowledge, at least once. */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import * as ToolWorker from "../../layers/compose/ToolWorker.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import * as LocalToolRegistry from "../../layers/runtime/desk/LocalToolRegistry.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import * as ToolQueueWorker from "../../layers/runtime/queue/ToolQueueWorker.ts"
import { StoreError } from "../../services/TaskStore.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { Tenant } from "../../src/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { CallContext as Called } from "../../src/tool/GovernedTool.ts"
import type { Governance } from "../../src/tool/Governance.ts"
import type { CallMessage } from "../../src/semstreams/CallMessage.ts"
import { resultSubject } from "../../src/semstreams/Subjects.ts"
import { eventually } from "../contracts/Contract.ts"

const config: ToolQueueConfig = {
  concurrency: 3,
  deliveries_max: 3,
  ack_wait_ms: 300,
  backoff_ms: [20, 40],
  message_ms_max: 5_000,
  sweep_ms: 50,
  stop_ms: 2_000,
  offer_ms: 60_000,
  show_ms: 1,
  result_ms: 60_000
}

type Answers = (call: Called) => Effect.Effect<never, ToolUserError> | Effect.Effect<string>

const named = (name: string, answers: Answers, more: Partial<Governance> = {}) =>
  tool({ namespace: "t", name, side_effects: "read", ...more }, (_, call) => answers(call))

const dones = () => Effect.succeed("done")

const layerOf = (
  tools: ReadonlyArray<LocalToolRegistry.Family<unknown, unknown>>,
  more: Partial<ToolQueueConfig> = {},
  capabilities?: ReadonlyArray<string>
) =>
  ToolWorker.layer({
    tools: tools as ReadonlyArray<LocalToolRegistry.Family<unknown, never>>,
    ...(capabilities === undefined ? undefined : { capabilities })
  }).pipe(Layer.provide(Layer.succeed(ToolQueueConfig, { ...config, ...more })))

const approved: Partial<CallMessage> = { approved_by: "olga" }

let count = 0

/** Sends a call of a tool by its key, and returns its id. */
const send = Effect.fnUntraced(function* (
  name: string,
  more: Partial<CallMessage> = {},
  expires_at = 4_000_000_000_000,
  tenant = "acme"
) {
  const queue = yield* ToolQueue
  const id = `call-${++count}`
  const key = `t.${name}@1`
  const payload = { id, name: key, arguments: {}, loop_id: "loop", trace_id: "trace", ...more }
  yield* queue.send({
    id,
    tool: key,
    tenant: Tenant.make(tenant),
    expires_at,
    payload: payload as never
  })
  return id
})

const awaited = (id: string) => ToolQueue.use((queue) => queue.awaited(id))

const called = (name: string, more?: Partial<CallMessage>) =>
  Effect.flatMap(send(name, more), awaited)

const over = Effect.fnUntraced(function* (name: string) {
  const queue = yield* ToolQueue
  yield* eventually(queue.nextDueAt([`t.${name}@1`]), (due) => due === undefined)
})

/** The queue with some of its methods replaced, and a log of the calls of some methods. */
const spied = (
  change: (
    queue: ToolQueue["Service"],
    log: Array<string>
  ) => Partial<ToolQueue["Service"]> = () => ({})
) => {
  const log: Array<string> = []
  const layer = Layer.effect(
    ToolQueue,
    Effect.map(ToolQueue, (queue) => {
      const own = { ...queue, ...change(queue, log) }
      const logged =
        <Args extends ReadonlyArray<unknown>, A>(name: string, method: (...args: Args) => A) =>
        (...args: Args): A => {
          log.push(name)
          return method(...args)
        }
      return {
        ...own,
        begin: logged("begin", own.begin),
        publish: logged("publish", own.publish),
        acknowledge: logged("acknowledge", own.acknowledge)
      }
    })
  ).pipe(Layer.provide(EphemeralToolQueue.layer))
  return { layer, log }
}

it.live(
  "SM-22 a call is executed, its result published, and the message acknowledged, in this order",
  () => {
    const { layer, log } = spied()
    const write = named("write", () => Effect.sync(() => (log.push("body"), "done")), {
      side_effects: "write",
      permission: "allow"
    })
    return Effect.gen(function* () {
      const result = yield* called("write")
      assert.deepInclude(result, { content: '"done"', loop_id: "loop", trace_id: "trace" })
      yield* over("write")
      assert.deepStrictEqual(log, ["begin", "body", "publish", "acknowledge"])
    }).pipe(Effect.provide(Layer.provideMerge(layerOf([write]), layer)))
  }
)

it.live(
  "SM-29 calls of one batch run at the same time, and each result is published under its call's id",
  () =>
    Effect.gen(function* () {
      const both = yield* Deferred.make<void>()
      let arrived = 0
      const meets = named("meets", (call) => {
        if (++arrived === 2) Deferred.doneUnsafe(both, Effect.void)
        return Effect.as(Deferred.await(both), `for ${call.call}`)
      })
      yield* Effect.gen(function* () {
        const ids = [yield* send("meets"), yield* send("meets")]
        for (const id of ids) {
          assert.deepInclude(yield* awaited(id), {
            call_id: id,
            content: JSON.stringify(`for ${id}`)
          })
          assert.strictEqual(resultSubject(id), `tool.result.${id}`)
        }
      }).pipe(Effect.provide(Layer.provideMerge(layerOf([meets]), EphemeralToolQueue.layer)))
    })
)

it.live("at most `concurrency` calls of a worker run at the same time", () =>
  Effect.gen(function* () {
    let [now, most] = [0, 0]
    const counts = named("counts", () =>
      Effect.suspend(() => {
        most = Math.max(most, ++now)
        return Effect.as(Effect.sleep("10 millis"), "done")
      }).pipe(Effect.ensuring(Effect.sync(() => now--)))
    )
    yield* Effect.gen(function* () {
      const ids = yield* Effect.forEach(Array.from({ length: 12 }), () => send("counts"))
      yield* Effect.forEach(ids, awaited)
      assert.strictEqual(most, 3)
    }).pipe(Effect.provide(Layer.provideMerge(layerOf([counts]), EphemeralToolQueue.layer)))
  })
)

it.live("tenants take turns at a worker that runs one call at a time", () =>
  Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    const order: Array<string> = []
    const turns = named("turns", ({ call }) => {
      order.push(call)
      return Effect.as(Deferred.await(gate), "done")
    })
    yield* Effect.gen(function* () {
      const sends = (tenant: string) => send("turns", {}, undefined, tenant)
      const a = yield* Effect.replicateEffect(sends("acme"), 5)
      const b = yield* Effect.replicateEffect(sends("beta"), 2)
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.forEach([...a, ...b], awaited)
      assert.deepStrictEqual(order, [a[0]!, b[0]!, a[1]!, b[1]!, ...a.slice(2)])
    }).pipe(
      Effect.provide(
        Layer.provideMerge(layerOf([turns], { concurrency: 1 }), EphemeralToolQueue.layer)
      )
    )
  })
)

/** A queue that fails to publish until the worker gives up on its first result, and then takes the call back. */
const faulty = () =>
  spied((queue) => {
    let isAway = true
    return {
      publish: (id, result) =>
        Effect.suspend(() =>
          isAway ? Effect.fail(new StoreError({ message: "away" })) : queue.publish(id, result)
        ),
      failed: (id, owner, error, at) =>
        Effect.suspend(() => {
          isAway = false
          return queue.failed(id, owner, error, at)
        })
    }
  })

for (const [title, governance, bodies, expected] of [
  ["a read is executed again", {}, 2, { content: '"done"' }],
  [
    "a write that honours its key is executed again with the same key",
    { side_effects: "external", permission: "allow", idempotent: true },
    2,
    { content: '"done"' }
  ],
  [
    "a write whose outcome is not known is answered as unknown, and not executed again",
    { side_effects: "external", permission: "allow" },
    1,
    { error_kind: "unknown", metadata: { outcome: "unknown" } }
  ]
] as const) {
  it.live(`SM-30 when its result cannot be published, ${title}`, () => {
    const keys: Array<string | undefined> = []
    const { layer, log } = faulty()
    const runs = named("runs", ({ key }) => Effect.sync(() => (keys.push(key), "done")), governance)
    return Effect.gen(function* () {
      assert.deepInclude(yield* called("runs"), expected)
      yield* over("runs")
      assert.strictEqual(keys.length, bodies)
      assert.strictEqual(new Set(keys).size, 1)
      assert.strictEqual(log.filter((each) => each === "acknowledge").length, 1)
    }).pipe(Effect.provide(Layer.provideMerge(layerOf([runs]), layer)))
  })
}

it.live("a write whose begin cannot be recorded is not executed, and is delivered again", () => {
  const { layer, log } = spied((queue) => {
    let faults = 1
    return {
      begin: (id, owner) =>
        Effect.suspend(() =>
          faults-- > 0 ? Effect.fail(new StoreError({ message: "away" })) : queue.begin(id, owner)
        )
    }
  })
  const write = named("write", () => Effect.sync(() => (log.push("body"), "done")), {
    side_effects: "write",
    permission: "allow"
  })
  return Effect.gen(function* () {
    assert.deepInclude(yield* called("write"), { content: '"done"' })
    yield* over("write")
    assert.deepStrictEqual(log, ["begin", "begin", "body", "publish", "acknowledge"])
  }).pipe(Effect.provide(Layer.provideMerge(layerOf([write]), layer)))
})

it.live("a redelivered call whose result is recorded is answered from the record", () => {
  const { layer, log } = spied((queue) => {
    let faults = 6
    return {
      acknowledge: (id, owner) =>
        Effect.suspend(() =>
          faults-- > 0
            ? Effect.fail(new StoreError({ message: "away" }))
            : queue.acknowledge(id, owner)
        )
    }
  })
  const once = named("once", () => Effect.sync(() => (log.push("body"), "done")))
  return Effect.gen(function* () {
    yield* called("once")
    yield* over("once")
    assert.strictEqual(log.filter((each) => each === "body").length, 1)
    assert.strictEqual(log.filter((each) => each === "publish").length, 1)
  }).pipe(Effect.provide(Layer.provideMerge(layerOf([once]), layer)))
})

it.live("a call that runs longer than the lease stays with its worker", () =>
  Effect.gen(function* () {
    let bodies = 0
    const slow = named("slow", () =>
      Effect.suspend(() => (bodies++, Effect.as(Effect.sleep("1 second"), "done")))
    )
    yield* Effect.gen(function* () {
      assert.deepInclude(yield* called("slow"), { content: '"done"' })
      assert.strictEqual(bodies, 1)
    }).pipe(
      Effect.provide(
        Layer.provideMerge(layerOf([slow], { ack_wait_ms: 200 }), EphemeralToolQueue.layer)
      )
    )
  })
)

it.live(
  "a call that outlasts the limit of a delivery three times is dead, and its sender gets an error",
  () =>
    Effect.gen(function* () {
      let bodies = 0
      const hangs = named("hangs", () => Effect.suspend(() => (bodies++, Effect.never)))
      yield* Effect.gen(function* () {
        const queue = yield* ToolQueue
        const id = yield* send("hangs")
        assert.deepNestedInclude(yield* awaited(id), {
          error_kind: "internal",
          "metadata.error_reason": "DELIVERIES_MAX"
        })
        const [dead] = yield* eventually(queue.dead(10), (all) => all.length > 0)
        assert.deepInclude(dead, { id, deliveries: 4 })
        assert.strictEqual(bodies, 3)
      }).pipe(
        Effect.provide(
          Layer.provideMerge(layerOf([hangs], { message_ms_max: 50 }), EphemeralToolQueue.layer)
        )
      )
    })
)

it.live("a message that is no call is dead at once, and no body runs", () =>
  Effect.gen(function* () {
    let bodies = 0
    const runs = named("runs", () => Effect.sync(() => (bodies++, "done")))
    yield* Effect.gen(function* () {
      const queue = yield* ToolQueue
      for (const payload of [{ no: "call" }, { id: "another", name: "t.runs@1" }]) {
        const id = `poison-${++count}`
        yield* queue.send({
          id,
          tool: "t.runs@1",
          tenant: Tenant.make("acme"),
          expires_at: 4e12,
          payload
        })
        assert.deepNestedInclude(yield* awaited(id), { "metadata.error_reason": "UNREADABLE" })
      }
      yield* eventually(queue.dead(10), (all) => all.length === 2)
      assert.strictEqual(bodies, 0)
    }).pipe(Effect.provide(Layer.provideMerge(layerOf([runs]), EphemeralToolQueue.layer)))
  })
)

it.live(
  "a worker's gate decodes, refuses what is not approved or granted, and runs nothing that has expired",
  () =>
    Effect.gen(function* () {
      const by: Array<string | undefined> = []
      const asks = named(
        "asks",
        ({ approved_by }) => Effect.sync(() => (by.push(approved_by), "done")),
        {
          side_effects: "write"
        }
      )
      const guarded = named("guarded", dones, { capabilities: "tools:broker" })
      const granted = named("granted", dones, { capabilities: "net" })
      const says = named("says", () =>
        Effect.fail(
          new ToolUserError({ kind: "not_found", reason: "GONE", message: "no such order" })
        )
      )
      yield* Effect.gen(function* () {
        const refused = yield* called("asks")
        assert.match(refused.error!, /^approval_required: /)
        assert.deepInclude(refused, { error_kind: "permission" })
        assert.deepInclude(yield* called("asks", approved), { content: '"done"' })
        assert.deepInclude(yield* called("asks", { metadata: { permission: "allow" } }), {
          content: '"done"'
        })
        assert.deepStrictEqual(by, ["olga", undefined])
        assert.deepNestedInclude(yield* called("guarded"), {
          error_kind: "permission",
          "metadata.error_class": "ToolPolicyError"
        })
        assert.deepInclude(yield* called("granted"), { content: '"done"' })
        assert.deepInclude(yield* called("granted", { arguments: { stray: 1 } }), {
          error_kind: "invalid_args"
        })
        assert.deepInclude(yield* called("says"), {
          error: "no such order",
          error_kind: "not_found",
          metadata: { error_class: "ToolUserError", error_reason: "GONE" }
        })
        const late = yield* Effect.flatMap(send("granted", {}, 1), awaited)
        assert.deepNestedInclude(late, { "metadata.error_reason": "EXPIRED" })
      }).pipe(
        Effect.provide(
          Layer.provideMerge(
            layerOf([asks, guarded, granted, says], {}, ["net"]),
            EphemeralToolQueue.layer
          )
        )
      )
    })
)

it.live(
  "SM-34 SM-35 SM-36 a worker is healthy while it runs, starts once, and can be stopped twice",
  () =>
    Effect.gen(function* () {
      const good = named("good", dones)
      const bad = named("bad", () =>
        Effect.fail(new ToolUserError({ kind: "not_found", message: "no" }))
      )
      yield* Effect.gen(function* () {
        const worker = yield* ToolQueueWorker.ToolQueueWorker
        assert.deepStrictEqual(yield* worker.health, {
          healthy: false,
          processed: 0,
          errors: 0,
          error_rate: 0,
          uptime_ms: 0
        })
        yield* worker.stop
        yield* worker.start
        assert.strictEqual((yield* Effect.flip(worker.start))._tag, "WorkerRunning")
        yield* Effect.forEach(["good", "good", "good", "bad"], (name) => called(name))
        yield* over("bad")
        assert.deepInclude(yield* worker.health, {
          healthy: true,
          processed: 3,
          errors: 1,
          error_rate: 0.25
        })
        yield* worker.stop
        yield* worker.stop
        assert.deepInclude(yield* worker.health, { healthy: false, uptime_ms: 0, processed: 3 })
        // A stopped worker can be started again.
        const id = yield* send("good")
        yield* worker.start
        assert.deepInclude(yield* awaited(id), { content: '"done"' })
      }).pipe(
        Effect.provide(
          ToolQueueWorker.layerIdle().pipe(
            Layer.provide(LocalToolRegistry.layer(good, bad)),
            Layer.provide(Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)),
            Layer.provide(Layer.succeed(ToolQueueConfig, config)),
            Layer.provideMerge(EphemeralToolQueue.layer)
          )
        )
      )
    })
)

it.live("SM-37 a queue that does not answer fails the start and not the construction", () =>
  Effect.gen(function* () {
    const worker = yield* ToolQueueWorker.ToolQueueWorker
    assert.strictEqual((yield* Effect.flip(worker.start))._tag, "StoreError")
    assert.isFalse((yield* worker.health).healthy)
  }).pipe(
    Effect.provide(
      ToolQueueWorker.layerIdle().pipe(
        Layer.provide(LocalToolRegistry.layer(named("good", dones))),
        Layer.provide(Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)),
        Layer.provide(
          spied(() => ({ nextDueAt: () => Effect.fail(new StoreError({ message: "away" })) })).layer
        )
      )
    )
  )
)

it.live("SM-35 a stop waits for calls in flight, and gives back those that outlast it", () =>
  Effect.gen(function* () {
    const [begun, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const waits = named("waits", () =>
      Effect.andThen(
        Effect.sync(() => Deferred.doneUnsafe(begun, Effect.void)),
        Effect.as(Deferred.await(release), "done")
      )
    )
    const hangs = named("hangs", () => Effect.never)
    yield* Effect.gen(function* () {
      const queue = yield* ToolQueue
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(layerOf([waits, hangs], { stop_ms: 300 }), scope)
      const ids = [yield* send("waits"), yield* send("hangs")]
      yield* Deferred.await(begun)
      const stopping = yield* Effect.forkChild(Scope.close(scope, Exit.void), {
        startImmediately: true
      })
      yield* Deferred.succeed(release, undefined)
      assert.deepInclude(yield* awaited(ids[0]!), { content: '"done"' })
      yield* Fiber.join(stopping)
      const again = yield* queue.claim({
        owner: "x",
        tools: ["t.hangs@1"],
        limit: 1,
        lease_ms: 1_000
      })
      assert.deepInclude(again[0], { id: ids[1]!, deliveries: 2 })
    }).pipe(Effect.provide(EphemeralToolQueue.layer))
  })
)

for (const [title, family, field, says] of [
  [
    "a tool that needs its run's transaction",
    named("tx", dones, { side_effects: "write", transactional: true }),
    "transactional",
    /^tool "t.tx@1", field "transactional": .*transaction of its run.*drop transactional\.$/
  ],
  [
    "a tool that sends its calls away itself",
    remote({ namespace: "t", name: "tx", side_effects: "read" }),
    "provider",
    /sends its calls to a queue itself.*keep remote for the runtime/
  ],
  ["a tool that is not there", named("other", dones), "serve", /no such tool/]
] as const) {
  it.live(`a worker refuses at start ${title}`, () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Layer.build(ToolWorker.layer({ tools: [family], serve: ["t.tx@1"] }))
      )
      assert.deepInclude(error, { _tag: "ToolNotQueueable", tool: "t.tx@1", field })
      assert.match(String((error as Error).message), says)
    }).pipe(Effect.scoped, Effect.provide(EphemeralToolQueue.layer))
  )
}
