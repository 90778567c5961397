/**
 * A warning in the log and a count for each call that became unknown: its run waits for an operator from then on.
 */
import { Effect, Metric } from "effect"
import { calls_unknown_total } from "../../../src/value/Telemetry.ts"
import type { OnDurable } from "./OnDurable.ts"

/** Calls `onDurable`, then warns of each call that became unknown. */
export const observeUnknownCalls = (onDurable: OnDurable): Effect.Effect<OnDurable> =>
  Effect.map(Effect.context<never>(), (context): OnDurable => {
    const fork = Effect.runForkWith(context)
    return (run, state, events) => {
      onDurable(run, state, events)
      for (const event of events) {
        if (event._tag !== "CallUnknown") continue
        const tool = event.tool ?? ""
        Metric.withAttributes(calls_unknown_total, { tool }).updateUnsafe(1, context)
        const warned = Effect.logWarning(
          "the outcome of a call is unknown: an operator has to say what became of it"
        )
        const { tenant, trace_id } = state.accepted
        const about = { run_id: run, call_id: event.call, tool, tenant, trace_id }
        void fork(Effect.annotateLogs(warned, about))
      }
    }
  })
