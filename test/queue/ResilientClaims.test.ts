/** What a worker holds while its queue does not answer is free as soon as the queue answers again, long before the lease ends. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import { StoreError } from "../../services/StoreError.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const name = "t.pay@1"
const away = Effect.fail(new StoreError({ message: "away" }))

/** Advances the clock by 20 s, in steps that let retries begin; the lease is 300 s. */
const soon = Effect.repeat(TestClock.adjust(500), { times: 40 })

/** A worker over a queue with some methods replaced, and a call of its tool. `bodies` counts the runs of the body. */
const serving = (
  change: (queue: ToolQueue["Service"]) => Partial<ToolQueue["Service"]>,
  use: (queue: ToolQueue["Service"], bodies: () => number) => Effect.Effect<void, StoreError>
) =>
  Effect.gen(function* () {
    const queue = yield* ToolQueue
    let bodies = 0
    const pay = tool(
      { namespace: "t", name: "pay", side_effects: "external", permission: "allow" },
      () => Effect.sync(() => ++bodies)
    )
    yield* Layer.build(
      ToolWorker.layer({ tools: [pay] }).pipe(
        Layer.provide(Layer.succeed(ToolQueue, { ...queue, ...change(queue) })),
        Layer.provide(
          Layer.effect(
            ToolQueueConfig,
            Effect.map(ToolQueueConfig, (config) => ({ ...config, backoff_ms: [100] }))
          )
        )
      )
    )
    yield* Effect.orDie(
      queue.send({
        id: "call-1",
        tool: name,
        tenant: Tenant.make("acme"),
        expires_at: 3_600_000,
        payload: { id: "call-1", name, arguments: {}, approved_by: "olga" }
      })
    )
    yield* use(queue, () => bodies)
  }).pipe(Effect.scoped, Effect.provide(Layer.merge(EphemeralToolQueue.layer, Logger.layer([]))))

const answered = (queue: ToolQueue["Service"], bodies: () => number) =>
  Effect.gen(function* () {
    const result = yield* Effect.forkChild(queue.awaited("call-1"))
    yield* soon
    assert.strictEqual((yield* Fiber.join(result)).error ?? "", "")
    assert.strictEqual(bodies(), 1)
  })

it.effect("what a claim took whose answer was lost is given back", () => {
  let losses = 0
  return serving(
    (queue) => ({
      claim: (asked) =>
        Effect.flatMap(queue.claim(asked), (all) =>
          all.length > 0 && ++losses === 1 ? away : Effect.succeed(all)
        )
    }),
    answered
  )
})

it.effect("a call that could not be begun is given back when the queue answers again", () => {
  let isAway = true
  return serving(
    (queue) => ({
      begin: (id, owner) => Effect.suspend(() => (isAway ? away : queue.begin(id, owner))),
      failed: (id, owner, error, at) =>
        Effect.suspend(() => (isAway ? away : queue.failed(id, owner, error, at)))
    }),
    (queue, bodies) =>
      Effect.gen(function* () {
        yield* soon
        isAway = false
        yield* answered(queue, bodies)
      })
  )
})

it.effect("a result is published when the queue answers again, and its body runs once", () => {
  let isAway = true
  return serving(
    (queue) => ({
      publish: (id, result) => Effect.suspend(() => (isAway ? away : queue.publish(id, result)))
    }),
    (queue, bodies) =>
      Effect.gen(function* () {
        yield* soon
        isAway = false
        yield* answered(queue, bodies)
      })
  )
})

it.effect("a call whose delivery broke is given back", () => {
  let broken = 0
  return serving(
    (queue) => ({
      publish: (id, result) =>
        Effect.suspend(() =>
          ++broken === 1 ? Effect.die(new Error("a bug")) : queue.publish(id, result)
        )
    }),
    (queue) =>
      Effect.gen(function* () {
        yield* soon
        // The call may have acted, and its tool has no reconcile: it is not run again.
        assert.deepInclude(yield* queue.status("call-1"), { status: "over" })
      })
  )
})

it.effect(
  "a release that finds nothing wakes no worker, so that a lost claim causes no busy loop",
  () => {
    let claims = 0
    return serving(
      (queue) => ({
        claim: (asked) =>
          Effect.flatMap(queue.claim(asked), (all) => (++claims === 1 ? away : Effect.succeed(all)))
      }),
      (queue, bodies) =>
        Effect.gen(function* () {
          yield* answered(queue, bodies)
          yield* soon
          assert.isBelow(claims, 40)
        })
    )
  }
)
