import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { startPeriodic } from "../../layers/runtime/fiber/Periodic.ts"

it.effect("periodic work goes on after a failure and a defect, and ends with its scope", () =>
  Effect.gen(function* () {
    const failures: Array<string> = []
    let rounds = 0
    const work = Effect.suspend(() => {
      rounds++
      if (rounds === 1) return Effect.fail("away")
      return rounds === 2 ? Effect.die(new Error("broken")) : Effect.void
    })
    const scope = yield* Scope.make()
    yield* startPeriodic(1_000, work, 100, (cause) =>
      Effect.sync(() => void failures.push(Cause.pretty(cause)))
    ).pipe(Scope.provide(scope))
    yield* TestClock.adjust(99)
    assert.strictEqual(rounds, 0)
    yield* TestClock.adjust(1)
    assert.strictEqual(rounds, 1)
    yield* TestClock.adjust(2_000)
    assert.strictEqual(rounds, 3)
    assert.strictEqual(failures.length, 2)
    assert.include(failures[0], "away")
    assert.include(failures[1], "broken")
    yield* Scope.close(scope, Exit.void)
    yield* TestClock.adjust(10_000)
    assert.strictEqual(rounds, 3)
  })
)
