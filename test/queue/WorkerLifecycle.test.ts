/** The start, the stop and the health of a worker. */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import * as LocalToolRegistry from "../../layers/runtime/directory/LocalToolRegistry.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import * as ToolQueueWorker from "../../layers/runtime/queue/ToolQueueWorker.ts"
import { StoreError } from "../../services/StoreError.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { toolKeyOf } from "../../src/tool/ToolSpec.ts"
import { eventually } from "../contracts/Contract.ts"
import {
  callTool,
  resultOf,
  sendCall,
  spiedQueue,
  succeedDone,
  toolNamed,
  untilOver,
  workerConfig,
  workerLayer
} from "./Workers.ts"

it.live(
  "SM-34 SM-35 SM-36 a worker is healthy while it runs, starts once, and can be stopped twice",
  () =>
    Effect.gen(function* () {
      const good = toolNamed("good", succeedDone)
      const bad = toolNamed("bad", () =>
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
        yield* Effect.forEach(["good", "good", "good", "bad"], (name) => callTool(name))
        yield* untilOver("bad")
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
        const id = yield* sendCall("good")
        yield* worker.start
        assert.deepInclude(yield* resultOf(id), { content: '"done"' })
      }).pipe(
        Effect.provide(
          ToolQueueWorker.layerIdle().pipe(
            Layer.provide(LocalToolRegistry.layer(good, bad)),
            Layer.provide(Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)),
            Layer.provide(Layer.succeed(ToolQueueConfig, workerConfig)),
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
        Layer.provide(LocalToolRegistry.layer(toolNamed("good", succeedDone))),
        Layer.provide(Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)),
        Layer.provide(
          spiedQueue(() => ({ nextDueAt: () => Effect.fail(new StoreError({ message: "away" })) }))
            .layer
        )
      )
    )
  )
)

const idleWorker = (
  queue: Layer.Layer<ToolQueue>,
  more: Partial<ToolQueueConfig> = {},
  good = toolNamed("good", succeedDone)
) =>
  ToolQueueWorker.layerIdle().pipe(
    Layer.provide(LocalToolRegistry.layer(good)),
    Layer.provide(Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)),
    Layer.provide(Layer.succeed(ToolQueueConfig, { ...workerConfig, ...more })),
    Layer.provideMerge(queue)
  )

it.live("SM-34 of two starts at the same time one fails, and the worker runs once", () => {
  let announced = 0
  const { layer } = spiedQueue((queue) => ({
    announce: (offer) =>
      Effect.andThen(
        Effect.sync(() => void announced++),
        Effect.andThen(Effect.sleep(20), queue.announce(offer))
      )
  }))
  return Effect.gen(function* () {
    const worker = yield* ToolQueueWorker.ToolQueueWorker
    const start = Effect.exit(worker.start)
    const exits = yield* Effect.all([start, start], { concurrency: 2 })
    assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
    assert.strictEqual(announced, 1)
    assert.isTrue((yield* worker.health).healthy)
  }).pipe(Effect.provide(idleWorker(layer)))
})

it.live("a stop while a worker starts ends the start, and leaves no offer behind", () => {
  const { layer } = spiedQueue((queue) => ({
    announce: (offer) => Effect.tap(queue.announce(offer), () => Effect.sleep(50))
  }))
  return Effect.gen(function* () {
    const worker = yield* ToolQueueWorker.ToolQueueWorker
    const starting = yield* Effect.forkChild(Effect.exit(worker.start), { startImmediately: true })
    yield* Effect.sleep(10)
    yield* worker.stop
    yield* Fiber.join(starting)
    assert.isFalse((yield* worker.health).healthy)
    const queue = yield* ToolQueue
    yield* eventually(queue.list(), (offers) => offers.every(({ available }) => !available))
    const id = yield* sendCall("good")
    yield* Effect.sleep(200)
    assert.strictEqual((yield* queue.status(id))?.status, "waiting")
  }).pipe(Effect.provide(idleWorker(layer)))
})

it.live("a defect of the queue ends neither the worker's offer nor the lease of its calls", () => {
  let renewed = 0
  let extended = 0
  const broken = Effect.die(new Error("bug"))
  const { layer, log } = spiedQueue((queue) => ({
    renew: (worker, ms) =>
      Effect.suspend(() => (renewed++ === 0 ? broken : queue.renew(worker, ms))),
    extend: (id, owner, ms) =>
      Effect.suspend(() => (extended++ === 0 ? broken : queue.extend(id, owner, ms)))
  }))
  const slow = toolNamed("good", () => Effect.as(Effect.sleep(600), "done"))
  return Effect.gen(function* () {
    const worker = yield* ToolQueueWorker.ToolQueueWorker
    yield* worker.start
    assert.deepInclude(yield* callTool("good"), { content: '"done"' })
    assert.isAtLeast(renewed, 3)
    assert.isAtLeast(extended, 3)
    assert.strictEqual(log.filter((name) => name === "publish").length, 1)
  }).pipe(Effect.provide(idleWorker(layer, { offer_ms: 150, ack_wait_ms: 240 }, slow)))
})

it.effect("a defect of the queue does not end the pruning of old results", () => {
  let pruned = 0
  const { layer } = spiedQueue((queue) => ({
    prune: (before) =>
      Effect.suspend(() => (pruned++ === 0 ? Effect.die(new Error("bug")) : queue.prune(before)))
  }))
  return Effect.gen(function* () {
    const worker = yield* ToolQueueWorker.ToolQueueWorker
    yield* worker.start
    yield* TestClock.adjust(1)
    assert.strictEqual(pruned, 1)
    yield* TestClock.adjust(60_000)
    assert.strictEqual(pruned, 2)
  }).pipe(Effect.provide(idleWorker(layer)))
})

it.live("SM-35 a stop waits for calls in flight, and gives back those that outlast it", () =>
  Effect.gen(function* () {
    const [begun, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const waits = toolNamed("waits", () =>
      Effect.andThen(
        Effect.sync(() => Deferred.doneUnsafe(begun, Effect.void)),
        Effect.as(Deferred.await(release), "done")
      )
    )
    const hangs = toolNamed("hangs", () => Effect.never)
    yield* Effect.gen(function* () {
      const queue = yield* ToolQueue
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(workerLayer([waits, hangs], { stop_ms: 300 }), scope)
      const ids = [yield* sendCall("waits"), yield* sendCall("hangs")]
      yield* Deferred.await(begun)
      const stopping = yield* Effect.forkChild(Scope.close(scope, Exit.void), {
        startImmediately: true
      })
      yield* Deferred.succeed(release, undefined)
      assert.deepInclude(yield* resultOf(ids[0]!), { content: '"done"' })
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
    toolNamed("tx", succeedDone, { side_effects: "write", transactional: true }),
    "transactional",
    /^tool "t.tx@1", field "transactional": .*transaction of its run.*drop transactional\.$/
  ],
  [
    "a tool that sends its calls to a queue itself",
    remote({ namespace: "t", name: "tx", side_effects: "read" }),
    "provider",
    /sends its calls to a queue itself.*keep remote for the runtime/
  ],
  [
    "a tool whose results a client gives",
    Effect.map(toolNamed("tx", succeedDone), (tools) =>
      tools.map((tool) => ({ ...tool, client: { expires_ms: 1_000 } }))
    ),
    "type",
    /a worker has no conversation\. Give the tool to the runtime/
  ],
  ["a tool that is not there", toolNamed("other", succeedDone), "serve", /no such tool/]
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

it.live("a worker refuses at start more tools than a queue takes in one offer", () =>
  Effect.gen(function* () {
    const many = Effect.map(toolNamed("x", succeedDone), ([tool]) =>
      Array.from({ length: 1_001 }, (_, at) => {
        const spec = { ...tool.spec, name: `x${at}` }
        return { ...tool, spec, key: toolKeyOf(spec) }
      })
    )
    const error = yield* Effect.flip(Layer.build(ToolWorker.layer({ tools: [many] })))
    assert.deepInclude(error, { _tag: "ToolNotQueueable", field: "serve" })
  }).pipe(Effect.scoped, Effect.provide(EphemeralToolQueue.layer))
)
