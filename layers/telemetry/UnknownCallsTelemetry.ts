/**
 * The metric of calls that wait for an operator, by tool. It is read from the store, so that it includes the calls that
 * other processes left or settled.
 */
import { Context, Effect, Layer, Metric } from "effect"
import { RunList } from "../../services/RunList.ts"

const waiting = Metric.gauge("troupe_calls_unknown", {
  description: "Calls whose outcome nobody knows and that wait for an operator, by tool"
})

/** The interval of reads, in ms. */
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
  // A failing store is ignored here; those who use it report the failure.
  yield* Effect.ignore(look).pipe(
    Effect.andThen(Effect.sleep(interval_ms)),
    Effect.forever,
    Effect.withTracerEnabled(false),
    Effect.forkScoped
  )
})

export const layer: Layer.Layer<never, never, RunList> = Layer.effectDiscard(make)
