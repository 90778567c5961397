import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Latch, Logger } from "effect"
import { TestClock } from "effect/testing"
import { takeWheneverDue } from "../../layers/runtime/relay/ClaimLoop.ts"
import { StoreError } from "../../services/TaskStore.ts"

const sweep_ms = 1_000

/** Looks that fail one after the other in these ways, and then find something. */
const watching = Effect.fnUntraced(function* (
  ...ways: ReadonlyArray<Effect.Effect<never, StoreError>>
) {
  const taken = yield* Deferred.make<void>()
  let looks = 0
  const bell = yield* Latch.make(true)
  const fiber = yield* Effect.forkChild(
    takeWheneverDue({
      name: "queue of a test",
      take: Effect.suspend(() => ways[looks++] ?? Effect.as(Deferred.succeed(taken, undefined), 0)),
      nextDueAt: Effect.succeed(undefined),
      bell,
      sweep_ms
    })
  )
  return { taken, fiber, looks: () => looks }
})

describe("a durable queue that is looked at", () => {
  it.effect("is looked at again after its store was away and after a look that broke", () =>
    Effect.gen(function* () {
      const watch = yield* watching(
        Effect.fail(new StoreError({ message: "away" })),
        Effect.die(new Error("a bug"))
      )
      yield* TestClock.adjust(2 * sweep_ms)
      yield* Deferred.await(watch.taken)
      assert.strictEqual(watch.looks(), 3)
      yield* Fiber.interrupt(watch.fiber)
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("is looked at no more once whoever looks is interrupted", () =>
    Effect.gen(function* () {
      const watch = yield* watching(Effect.never)
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(watch.fiber)
      yield* TestClock.adjust(5 * sweep_ms)
      assert.strictEqual(watch.looks(), 1)
    })
  )
})
