/**
 * Tells metrics how many tools a runtime has (SM-90).
 */
import { Layer, Metric } from "effect"
import { ToolRegistry } from "../../services/ToolRegistry.ts"

const registered = Metric.gauge("troupe_agentic_tools_registered", {
  description: "Tools of the runtime, deprecated ones among them"
})

/** Of several runtimes in one process the one that started last is told of. */
export const layer: Layer.Layer<never, never, ToolRegistry> = Layer.effectDiscard(
  ToolRegistry.use((registry) => Metric.update(registered, registry.all.length))
)
