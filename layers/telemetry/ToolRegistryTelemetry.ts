/**
 * The metric of registered tools, whose counters begin with them.
 */
import { Effect, Layer, Metric } from "effect"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import { beginCounters } from "./ToolCallTelemetry.ts"

const registered = Metric.gauge("troupe_agentic_tools_registered", {
  description: "Tools of the runtime, deprecated ones among them"
})

/** With several runtimes in one process it shows the one that started last. */
export const layer: Layer.Layer<never, never, ToolRegistry> = Layer.effectDiscard(
  ToolRegistry.use(({ all }) =>
    Effect.andThen(
      Metric.update(registered, all.length),
      beginCounters(all.map(({ spec }) => spec.name))
    )
  )
)
