/**
 * Tells operators that a call became unknown: its run waits for one of them from here on. A line of the log, and a count.
 */
import { Effect, Metric } from "effect"
import type { Tell } from "./Observers.ts"

const unknown_total = Metric.counter("troupe_calls_unknown_total", {
  description: "Calls whose outcome became unknown, by tool",
  incremental: true
})

/** The same, and those. Whoever appends the event tells of it, so that each is told of once. */
export const unknownTeller = (tell: Tell): Effect.Effect<Tell> =>
  Effect.map(Effect.context<never>(), (context): Tell => {
    const fork = Effect.runForkWith(context)
    return (run, state, events) => {
      tell(run, state, events)
      for (const event of events) {
        if (event._tag !== "CallUnknown") continue
        const tool = event.tool ?? ""
        Metric.withAttributes(unknown_total, { tool }).updateUnsafe(1, context)
        const warned = Effect.logWarning(
          "the outcome of a call is unknown: an operator has to say what became of it"
        )
        const { tenant, trace_id } = state.accepted!
        const about = { run_id: run, call_id: event.call, tool, tenant, trace_id }
        void fork(Effect.annotateLogs(warned, about))
      }
    }
  })
