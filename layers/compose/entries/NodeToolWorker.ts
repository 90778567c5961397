/**
 * A worker for a Node process that does not speak Effect: it runs the bodies of tools that a runtime in another process
 * declares with `remote`.
 *
 * ```ts
 * const worker = await startWorker({ tools: [tool(refund, body)], store: { postgres: url } })
 * ```
 */
import { Effect, Layer, ManagedRuntime } from "effect"
import { ToolQueueConfig } from "../../runtime/queue/ToolQueueConfig.ts"
import type { WorkerHealth } from "../../runtime/queue/ToolQueueWorker.ts"
import { ToolQueueWorker } from "../../runtime/queue/ToolQueueWorker.ts"
import type { PostgresStore } from "../options/ServiceOptions.ts"
import type { WorkerOptions } from "../options/WorkerOptions.ts"

export type { RemoteOptions } from "../../runtime/queue/RemoteTool.ts"
export type { WorkerOptions } from "../options/WorkerOptions.ts"
export { remote } from "../../runtime/queue/RemoteTool.ts"

export interface NodeToolWorker {
  readonly health: () => Promise<WorkerHealth>
  /** Waits for the calls in flight, returns those that take too long to the queue, and releases what the worker holds. */
  readonly stop: () => Promise<void>
}

/**
 * Starts a worker. Rejects with the typed error that prevented the start, such as `InvalidInput` with its field if an option is
 * unknown or of a wrong type.
 */
export const startWorker = async (options: WorkerOptions): Promise<NodeToolWorker> => {
  const { checkWorkerOptions } = await import("../options/CheckedWorkerOptions.ts")
  const { inMilliseconds } = await import("../../../src/value/Times.ts")
  await Effect.runPromise(checkWorkerOptions(inMilliseconds<unknown>(options, 2)))
  const store = inMilliseconds<PostgresStore>(options.store)
  const config = inMilliseconds<Partial<ToolQueueConfig>>(options.config ?? {})
  const { postgresStore } = await import("../assembly/StoreLayers.ts")
  const { readEnvironment } = await import("../options/ReadEnvironment.ts")
  const ToolWorker = await import("../assembly/ToolWorker.ts")
  const OpenTelemetry = await import("../../telemetry/OpenTelemetry.ts")
  const { capabilities, provider, serve, tools } = options
  const telemetry = await OpenTelemetry.layer(options.telemetry, process.env)
  const settings = Layer.effect(
    ToolQueueConfig,
    Effect.map(ToolQueueConfig, (defaults) => ({ ...defaults, ...config }))
  )
  const layer = ToolWorker.layer({
    tools,
    ...(serve === undefined ? undefined : { serve }),
    ...(capabilities === undefined ? undefined : { capabilities }),
    ...(provider === undefined ? undefined : { provider })
  }).pipe(
    Layer.provide(settings),
    Layer.provide(postgresStore(store)),
    Layer.provideMerge(telemetry),
    Layer.provideMerge(readEnvironment())
  )
  const runtime = ManagedRuntime.make(layer)
  const worker = await runtime.runPromise(ToolQueueWorker)
  return { health: () => runtime.runPromise(worker.health), stop: () => runtime.dispose() }
}
