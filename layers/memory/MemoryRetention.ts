/**
 * Ends memories that nobody has ended: for runs that are over, and conversations in which nothing was written for a long time, it
 * moves the lasting rows to the next tier. It removes persistent memories that are too old.
 */
import { Clock, Context, Effect, Layer, Schedule, Schema } from "effect"
import { MemoryStore } from "../../services/MemoryStore.ts"
import type { StaleScope } from "../../services/MemoryStore.ts"
import type { MemoryScope, MemoryTier } from "../../src/memory/MemoryRow.ts"
import { endScope } from "./MemoryEnds.ts"

const days = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 36_500 }))

/**
 * How long memories are kept, in days. A run's or conversation's scope is ended once nothing was written in it for so long: after
 * 1 day and 30 days by default. A persistent row is removed this long after it was written; `persistent_days` absent = for ever.
 */
export const Retention = Schema.Struct({
  /** Of a run's scope, 1 to 36,500 days after the last row in it. Absent = 1. */
  interaction_days: days.pipe(Schema.withConstructorDefault(Effect.succeed(1))),
  /** Of a conversation's scope, 1 to 36,500 days after the last row in it. Absent = 30. */
  session_days: days.pipe(Schema.withConstructorDefault(Effect.succeed(30))),
  /** Of a persistent row, 1 to 36,500 days after it was written. Absent = for ever. */
  persistent_days: Schema.optionalKey(days)
})
export interface Retention extends Schema.Schema.Type<typeof Retention> {}

/** How long the memories of a runtime are kept. */
export const RetentionConfig = Context.Reference<Retention>(
  "troupe/layers/memory/RetentionConfig",
  {
    defaultValue: () => Retention.make({})
  }
)

/** The most scopes of a tier that one sweep ends, and the most rows that it removes. */
const sweep_max = 500
const day_ms = 86_400_000

const nextOf = ({ place, scope, session }: StaleScope): MemoryScope =>
  scope.tier === "interaction"
    ? { ...scope, tier: "session", anchor: session }
    : { ...scope, tier: "persistent", anchor: place }

/**
 * Makes one sweep. Gives how many scopes it ended and how many persistent rows it removed. What exceeds its bounds is left to the
 * next one.
 */
export const sweep = Effect.fn("MemoryRetention.sweep")(function* (retention: Retention) {
  const store = yield* MemoryStore
  const now = yield* Clock.currentTimeMillis
  const endStale = Effect.fnUntraced(function* (tier: MemoryTier, days: number) {
    const stale = yield* store.stale(tier, now - days * day_ms, sweep_max)
    yield* Effect.forEach(stale, (each) => endScope(store, { from: each.scope, to: nextOf(each) }))
    return stale.length
  })
  const interactions = yield* endStale("interaction", retention.interaction_days)
  const sessions = yield* endStale("session", retention.session_days)
  const removed =
    retention.persistent_days === undefined
      ? 0
      : yield* store.expire(now - retention.persistent_days * day_ms, sweep_max)
  return { ended: interactions + sessions, removed }
})

/** Sweeps until a sweep stays below its bounds. */
export const sweepAll = (retention: Retention) =>
  Effect.repeat(sweep(retention), {
    while: ({ ended, removed }) => ended >= sweep_max || removed >= sweep_max
  })

/**
 * Sweeps one minute after the start, and one hour after each sweep. A sweep that fails is logged, and the next one runs all the
 * same.
 */
export const layer: Layer.Layer<never, never, MemoryStore> = Layer.effectDiscard(
  Effect.gen(function* () {
    const swept = Effect.catch(sweepAll(yield* RetentionConfig), ({ message }) =>
      Effect.logWarning("memories were not swept", { reason: message })
    )
    yield* Effect.forkScoped(
      Effect.delay(Effect.repeat(swept, Schedule.spaced("1 hour")), "1 minute")
    )
  })
)
