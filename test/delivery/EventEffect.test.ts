/** What a handler of events gives, and how long it may take. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { EventHandler } from "../../src/delivery/EventEffect.ts"
import { effectOf } from "../../src/delivery/EventEffect.ts"

const event = {
  specversion: "1.0",
  id: "e-1",
  source: "/shop",
  type: "paid",
  time: "2026-01-01T00:00:00Z",
  data: null
} as const

const tell = { _tag: "Tell", conversation: "c", text: "It was paid." } as const
const given = (paid: EventHandler) => effectOf({ paid }, event)

describe("a handler of events", () => {
  it.effect("says what the event causes at once or as an Effect", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual<unknown>(yield* given(() => tell), tell)
      const later = yield* Effect.forkChild(
        given(() => Effect.delay(Effect.succeed(tell), "9 seconds"))
      )
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual<unknown>(yield* Fiber.join(later), tell)
    })
  )

  it.effect("that never ends is ended, as a defect that names it", () =>
    Effect.gen(function* () {
      const waiting = yield* Effect.forkChild(Effect.exit(given(() => Effect.never)))
      yield* TestClock.adjust("10 seconds")
      const exit = yield* Fiber.join(waiting)
      assert.include(
        Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "",
        "events.handlers.paid ran for more than 10000 ms"
      )
    })
  )

  it.effect("that gives a promise is refused, and its rejection goes nowhere", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(given((() => Promise.reject(new Error("no"))) as never))
      assert.deepInclude(error, { _tag: "InvalidInput", field: "events.handlers.paid" })
      assert.include(error.message, "this is a promise")
      // An unhandled rejection would fail this file.
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    })
  )
})
