import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Deadlines from "../../layers/runtime/Deadlines.ts"

describe("a deadline", () => {
  it.effect("fires once its time is over, though the wall clock was set back meanwhile", () =>
    Effect.gen(function* () {
      const real = yield* Clock.Clock
      let set_back_ms = 0
      const wall = () => real.currentTimeMillisUnsafe() - set_back_ms
      const clock: Clock.Clock = {
        currentTimeMillisUnsafe: wall,
        currentTimeMillis: Effect.sync(wall),
        currentTimeNanosUnsafe: () => BigInt(wall()) * 1_000_000n,
        currentTimeNanos: Effect.sync(() => BigInt(wall()) * 1_000_000n),
        monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: real.monotonicTimeNanos,
        sleep: (duration: Duration.Duration) => real.sleep(duration)
      }
      const deadlines = yield* Effect.provideService(Deadlines.make, Clock.Clock, clock)
      const fired: Array<string> = []
      deadlines.after(1_000, () => fired.push("late"))
      const cancel = deadlines.after(500, () => fired.push("cancelled"))
      set_back_ms = 3_600_000
      cancel()
      yield* TestClock.adjust(999)
      assert.deepStrictEqual(fired, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(fired, ["late"])
      assert.strictEqual(deadlines.armed(), 0)
    })
  )
})
