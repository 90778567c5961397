/** The claim loop alone, over a queue whose answers the test gives. The tests of relay and worker cover the rest. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeClaimLoop, makeClaimNames } from "../../layers/runtime/relay/ClaimLoop.ts"
import { StoreError } from "../../services/StoreError.ts"
import type { Tenant } from "../../src/value/Ids.ts"

const config = { concurrency: 1, sweep_ms: 1_000, stop_ms: 0 }

/** A loop whose claims end in these ways, one after the other, and then find nothing. */
const claiming = Effect.fnUntraced(function* (
  ...answers: ReadonlyArray<Effect.Effect<never, StoreError>>
) {
  const answered = yield* Deferred.make<void>()
  const scope = yield* Scope.make()
  let claims = 0
  const loop = yield* Scope.provide(
    Effect.flatMap(makeClaimNames("test"), (names) =>
      makeClaimLoop<{ readonly tenant: Tenant }>(
        {
          name: "queue of a test",
          lease_ms: 60_000,
          claim: () => answers[claims++] ?? Effect.as(Deferred.succeed(answered, undefined), []),
          release: () => Effect.void,
          nextDueAt: Effect.succeed(undefined),
          added: () => Effect.void
        },
        names,
        config
      )
    ),
    scope
  )
  yield* Scope.provide(
    loop.start(() => Effect.void),
    scope
  )
  return { answered, claims: () => claims, stop: Scope.close(scope, Exit.void) }
})

describe("a claim loop", () => {
  it.effect("claims again after its store was away and after a claim that broke", () =>
    Effect.gen(function* () {
      const loop = yield* claiming(
        Effect.fail(new StoreError({ message: "away" })),
        Effect.die(new Error("a bug"))
      )
      yield* TestClock.adjust(2 * config.sweep_ms)
      yield* Deferred.await(loop.answered)
      assert.strictEqual(loop.claims(), 3)
      yield* loop.stop
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("claims nothing more once its scope is closed", () =>
    Effect.gen(function* () {
      const loop = yield* claiming()
      yield* Deferred.await(loop.answered)
      yield* loop.stop
      yield* TestClock.adjust(5 * config.sweep_ms)
      assert.strictEqual(loop.claims(), 1)
    })
  )
})
