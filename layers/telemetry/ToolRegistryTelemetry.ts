/**
 * The metric of registered tools, whose counters begin with them.
 */
import { Effect, Layer, Metric } from "effect"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import { calls_unknown } from "./StandingTelemetry.ts"
import { beginCounters } from "./ToolCallTelemetry.ts"

const registered = Metric.gauge("troupe_agentic_tools_registered", {
  description: "Tools of the runtime, deprecated ones among them"
})

/** With several runtimes in one process it shows the one that started last. */
export const layer: Layer.Layer<never, never, ToolRegistry> = Layer.effectDiscard(
  ToolRegistry.use(
    Effect.fnUntraced(function* ({ all }) {
      yield* Metric.update(registered, all.length)
      const names = all.map(({ spec }) => spec.name)
      yield* beginCounters(names)
      // The store may have been read already.
      for (const tool of names) {
        yield* Metric.modify(Metric.withAttributes(calls_unknown, { tool }), 0)
      }
    })
  )
)
