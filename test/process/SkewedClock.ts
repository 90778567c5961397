import { Effect } from "effect"
import type { Clock } from "effect"

/** The clock, wrong by so many ms. How long something takes is right. */
export const skewed =
  (ms: () => number) =>
  (clock: Clock.Clock): Clock.Clock => ({
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ms(),
    currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + ms()),
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(ms()) * 1_000_000n,
    currentTimeNanos: Effect.map(
      clock.currentTimeNanos,
      (nanos) => nanos + BigInt(ms()) * 1_000_000n
    ),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  })
