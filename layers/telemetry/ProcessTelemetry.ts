/**
 * Metrics of this process under the names that Prometheus' clients for Node use: its memory, and how late its event loop is.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect, Layer, Metric } from "effect"

const interval_ms = 5_000

const resident = Metric.gauge("process_resident_memory_bytes", {
  description: "Resident memory of the process, in bytes"
})
const heap = Metric.gauge("nodejs_heap_size_used_bytes", {
  description: "Memory in use on V8's heap, in bytes"
})
const outside = Metric.gauge("nodejs_external_memory_bytes", {
  description: "Memory of objects of C++ that JavaScript holds, in bytes"
})
const lag = Metric.gauge("nodejs_eventloop_lag_p99_seconds", {
  description: "How late the event loop was in the last 5 s, at the 99th percentile"
})

const make = Effect.gen(function* () {
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const histogram = monitorEventLoopDelay({ resolution: 20 })
      histogram.enable()
      return histogram
    }),
    (histogram) => Effect.sync(() => histogram.disable())
  )
  const look = Effect.gen(function* () {
    const { external, heapUsed, rss } = process.memoryUsage()
    yield* Metric.update(resident, rss)
    yield* Metric.update(heap, heapUsed)
    yield* Metric.update(outside, external)
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
