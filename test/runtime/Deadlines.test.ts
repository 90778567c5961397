import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Deadlines from "../../layers/runtime/tool/Deadlines.ts"

describe("a deadline", () => {
  it.effect("fires when its time is over, even if the wall clock was set back meanwhile", () =>
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

  it.effect("fires in order of time, however many are armed and disarmed in between", () =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const fired: Array<number> = []
      const expected: Array<number> = []
      // Each residue of 1,009 once: times in no order, and none twice.
      const times = Array.from({ length: 1_008 }, (_, n) => 1 + ((n * 617) % 1_009))
      const cancels = times.map((ms) => deadlines.after(ms, () => fired.push(ms)))
      times.forEach((ms, n) => {
        if (n % 3 === 0) cancels[n]!()
        else expected.push(ms)
      })
      // Twice is once.
      cancels[0]!()
      assert.strictEqual(deadlines.armed(), expected.length)
      yield* TestClock.adjust(500)
      expected.sort((a, b) => a - b)
      assert.deepStrictEqual(
        fired,
        expected.filter((ms) => ms <= 500)
      )
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(fired, expected)
      for (const cancel of cancels) cancel()
      assert.strictEqual(deadlines.armed(), 0)
    })
  )

  it.effect("fires one that is armed later and due earlier at its time", () =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const fired: Array<string> = []
      deadlines.after(60_000, () => fired.push("late"))
      yield* TestClock.adjust(10)
      deadlines.after(100, () => {
        fired.push("early")
        deadlines.after(0, () => fired.push("armed by the early one"))
      })
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(fired, ["early", "armed by the early one"])
      assert.strictEqual(deadlines.armed(), 1)
    })
  )
})
