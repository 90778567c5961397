/**
 * The metric of registered tools.
 */
import { Layer, Metric } from "effect"
import { ToolRegistry } from "../../services/ToolRegistry.ts"

const registered = Metric.gauge("troupe_agentic_tools_registered", {
  description: "Tools of the runtime, deprecated ones among them"
})

/** With several runtimes in one process it shows the one that started last. */
export const layer: Layer.Layer<never, never, ToolRegistry> = Layer.effectDiscard(
  ToolRegistry.use((registry) => Metric.update(registered, registry.all.length))
)
