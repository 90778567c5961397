/**
 * Metrics of this process under the names that Prometheus' clients for Node use: its memory, and how late its event loop is.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { getHeapStatistics } from "node:v8"
import { Effect, Layer, Metric } from "effect"
import { readGauge } from "../../src/value/Telemetry.ts"

const interval_ms = 5_000

const lag = Metric.gauge("nodejs_eventloop_lag_p99_seconds", {
  description: "How late the event loop was in the last 5 s, at the 99th percentile"
})

const memory = [
  [
    "process_resident_memory_bytes",
    "Resident memory of the process",
    () => process.memoryUsage.rss()
  ],
  [
    "nodejs_heap_size_used_bytes",
    "Memory in use on V8's heap",
    () => getHeapStatistics().used_heap_size
  ],
  [
    "nodejs_heap_size_limit_bytes",
    "Size of V8's heap at which the process ends",
    () => getHeapStatistics().heap_size_limit
  ],
  [
    "nodejs_external_memory_bytes",
    "Memory of objects of C++ that JavaScript holds",
    () => process.memoryUsage().external
  ]
] as const

const make = Effect.gen(function* () {
  for (const [name, description, read] of memory) yield* readGauge(name, description, read)
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution: 20 })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.sync(() => histogram.disable())
  )
  const look = Effect.gen(function* () {
    yield* Metric.update(lag, delay.count === 0 ? 0 : delay.percentile(99) / 1e9)
    delay.reset()
  })
  yield* look.pipe(
    Effect.andThen(Effect.sleep(interval_ms)),
    Effect.forever,
    Effect.withTracerEnabled(false),
    Effect.forkScoped
  )
})

export const layer: Layer.Layer<never> = Layer.effectDiscard(make)
