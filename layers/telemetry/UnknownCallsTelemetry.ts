/**
 * Tells metrics how many calls wait for an operator, by tool. It is asked of the store and not counted here: what another
 * process left, and what another settled, is in it.
 */
import { Context, Effect, Layer, Metric } from "effect"
import { RunList } from "../../services/RunList.ts"

const waiting = Metric.gauge("troupe_calls_unknown", {
  description: "Calls whose outcome nobody knows and that wait for an operator, by tool"
})

/** How often it is asked, in ms. */
export const UnknownCallsInterval = Context.Reference<number>("troupe/UnknownCallsInterval", {
  defaultValue: () => 15_000
})

const make = Effect.gen(function* () {
  const runs = yield* RunList
  const interval_ms = yield* UnknownCallsInterval
  let before: ReadonlySet<string> = new Set()
  const look = Effect.gen(function* () {
    const counts = yield* runs.unknownByTool
    const now = new Set(counts.map(({ tool }) => tool))
    for (const tool of before) {
      if (!now.has(tool)) yield* Metric.update(Metric.withAttributes(waiting, { tool }), 0)
    }
    for (const { calls, tool } of counts) {
      yield* Metric.update(Metric.withAttributes(waiting, { tool }), calls)
    }
    before = now
  })
  // A store that is away says nothing for a while; its own users say that it is.
  yield* Effect.ignore(look).pipe(
    Effect.andThen(Effect.sleep(interval_ms)),
    Effect.forever,
    Effect.withTracerEnabled(false),
    Effect.forkScoped
  )
})

export const layer: Layer.Layer<never, never, RunList> = Layer.effectDiscard(make)
