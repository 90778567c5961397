/**
 * Counters that only increase, as OpenTelemetry and Prometheus expect of a metric whose name ends in `_total`.
 */
import { Metric } from "effect"

export const totalMetric = (
  name: `troupe_${string}_total`,
  description: string
): Metric.Counter<number> => Metric.counter(name, { description, incremental: true })

export const calls_unknown_total = totalMetric(
  "troupe_calls_unknown_total",
  "Calls whose outcome became unknown, by tool"
)
