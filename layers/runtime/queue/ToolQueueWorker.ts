/**
 * A worker that takes calls of tools from the queue and runs them, in the order execute, publish, acknowledge: a crash
 * between any two delivers the call again. The lease of a call is extended while it runs. A call that cannot be run is
 * dead, and its sender gets an error as its result.
 */
import { Clock, Context, Effect, Exit, Layer, Schema, Scope } from "effect"
import type { Digest, SecureRandom } from "effect/crypto"
import type { MisdeclaredPolicy } from "../../../src/permission/PolicyCheck.ts"
import { consumerNameForTool } from "../../../src/queue/CallMessage.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { ToolDelivery } from "../../../services/ToolQueue.ts"
import { ToolQueue } from "../../../services/ToolQueue.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import { startPeriodic } from "../fiber/Periodic.ts"
import type { ClaimNames } from "../relay/ClaimLoop.ts"
import { makeClaimLoop, makeClaimNames } from "../relay/ClaimLoop.ts"
import type { Counts } from "./QueueDelivery.ts"
import { beginCounters, runDelivery } from "./QueueDelivery.ts"
import * as QueueExecutor from "./QueueExecutor.ts"
import type { ToolNotQueueable, WorkerOptions } from "./ServedTools.ts"
import { ToolQueueConfig } from "./ToolQueueConfig.ts"

/** The worker runs already. */
export class WorkerRunning extends Schema.TaggedError<WorkerRunning>()("WorkerRunning", {}) {}

export interface WorkerHealth {
  readonly healthy: boolean
  /** Calls that ended with a value. */
  readonly processed: number
  /** Calls that ended with an error, and deliveries without a result. */
  readonly errors: number
  /** The share of `errors` in both; 0 where there were none. */
  readonly error_rate: number
  /** ms since the start; 0 while the worker does not run. */
  readonly uptime_ms: number
}

export class ToolQueueWorker extends Context.Service<
  ToolQueueWorker,
  {
    /** Announces the tools and begins to claim. Fails where the queue does not answer. */
    readonly start: Effect.Effect<void, WorkerRunning | StoreError>
    /**
     * Claims no more calls, waits up to `stop_ms` for those in flight, and gives back the others. Does nothing where the
     * worker does not run.
     */
    readonly stop: Effect.Effect<void>
    readonly health: Effect.Effect<WorkerHealth>
    /** The names that the worker's tools are called by. */
    readonly tools: ReadonlyArray<string>
    /** The consumer of each of these names, as SemStreams names it. */
    readonly consumers: ReadonlyArray<string>
  }
>()("troupe/layers/runtime/queue/ToolQueueWorker") {}

const prune_every_ms = 60_000

/** The time between a start and the next stop. */
interface Session {
  readonly scope: Scope.Closeable
  /** ms since 1970; undefined while the worker starts. */
  started_at: number | undefined
}

/** What a worker runs, and the names that its offer and its claims are made under. */
interface Worker {
  readonly queue: ToolQueue["Service"]
  readonly config: ToolQueueConfig
  readonly executor: QueueExecutor.QueueExecutor
  readonly names: ClaimNames
  readonly provider: string
  readonly counts: Counts
}

/** Offers the worker's tools until the scope closes. Fails where the first announcement does; a later one is repeated. */
const keepOffered = Effect.fnUntraced(function* ({
  config,
  executor,
  names,
  provider,
  queue
}: Worker) {
  const { offer_ms, stop_ms } = config
  const worker = names.owner
  const announce = queue.announce({
    worker,
    provider,
    tools: executor.specs,
    lease_ms: offer_ms
  })
  yield* announce
  yield* Effect.addFinalizer(() =>
    Effect.timeoutOption(Effect.ignore(queue.renew(worker, 0)), stop_ms)
  )
  const renew = Effect.flatMap(queue.renew(worker, offer_ms), (known) =>
    known ? Effect.void : announce
  )
  yield* startPeriodic(offer_ms / 3, Effect.ignore(renew), offer_ms / 3, (cause) =>
    Effect.logError("the offer of a worker was not renewed", cause)
  )
})

/** Forgets old results, now and once a minute until the scope closes. */
const keepPruned = ({ config, queue }: Worker) =>
  startPeriodic(
    prune_every_ms,
    Effect.flatMap(Clock.currentTimeMillis, (now) => queue.prune(now - config.result_ms)),
    0,
    (cause) => Effect.logWarning("old results of tool calls were not pruned", cause)
  )

/** Offers the worker's tools and runs their calls until the scope closes. Fails where the queue does not answer. */
const serve = Effect.fnUntraced(function* (worker: Worker) {
  const { config, executor, names, queue } = worker
  const tools = executor.names
  yield* beginCounters
  const loop = yield* makeClaimLoop<ToolDelivery>(
    {
      name: "queue of tool calls",
      lease_ms: config.ack_wait_ms,
      claim: ({ after, lease_ms, limit, owner }) =>
        queue.claim({ owner, tools, limit, after, lease_ms }),
      release: queue.release,
      nextDueAt: queue.nextDueAt(tools),
      added: queue.onSent
    },
    names,
    config
  )
  yield* keepOffered(worker)
  yield* queue.nextDueAt(tools)
  yield* keepPruned(worker)
  const deliveries = { ...loop, queue, config, executor, counts: worker.counts }
  yield* loop.start((delivery, owner) => runDelivery(deliveries, delivery, owner))
})

const healthOf = (
  { errors, processed }: Counts,
  session: Session | undefined,
  now: number
): WorkerHealth => {
  const started_at = session?.started_at
  return {
    healthy: started_at !== undefined,
    processed,
    errors,
    error_rate: errors === 0 ? 0 : errors / (errors + processed),
    uptime_ms: started_at === undefined ? 0 : now - started_at
  }
}

const make = Effect.fnUntraced(function* (options: WorkerOptions) {
  const clock = yield* Clock.Clock
  const executor = yield* QueueExecutor.make(options)
  const worker: Worker = {
    queue: yield* ToolQueue,
    config: yield* ToolQueueConfig,
    executor,
    names: yield* makeClaimNames("worker"),
    provider: options.provider ?? "worker",
    counts: { processed: 0, errors: 0 }
  }
  let session: Session | undefined

  const stop = Effect.suspend(() => {
    const running = session
    session = undefined
    return running === undefined ? Effect.void : Scope.close(running.scope, Exit.void)
  })

  const start = Effect.suspend((): Effect.Effect<void, WorkerRunning | StoreError> => {
    if (session !== undefined) return Effect.fail(new WorkerRunning())
    // From here on another start fails, and a stop ends this one: what it acquires in a closed scope is released at once.
    const own: Session = { scope: Scope.makeUnsafe(), started_at: undefined }
    session = own
    return serve(worker).pipe(
      Scope.provide(own.scope),
      Effect.onError(() => {
        if (session === own) session = undefined
        return Scope.close(own.scope, Exit.void)
      }),
      Effect.andThen(
        Effect.sync(() => {
          own.started_at = clock.currentTimeMillisUnsafe()
        })
      )
    )
  })

  yield* Effect.addFinalizer(() => stop)
  return ToolQueueWorker.of({
    start,
    stop,
    tools: executor.names,
    consumers: executor.names.map((name) =>
      consumerNameForTool(name, options.consumer_name_suffix)
    ),
    health: Effect.sync(() => healthOf(worker.counts, session, clock.currentTimeMillisUnsafe()))
  })
})

/** A worker that has not started. It stops with its scope. */
export const layerIdle = (
  options: WorkerOptions = {}
): Layer.Layer<
  ToolQueueWorker,
  MisdeclaredPolicy | ToolNotQueueable,
  ToolQueue | ToolRegistry | Digest.Digest | SecureRandom.SecureRandom
> => Layer.effect(ToolQueueWorker, make(options))

/** A worker that runs for as long as its scope. */
export const layer = (
  options: WorkerOptions = {}
): Layer.Layer<
  ToolQueueWorker,
  MisdeclaredPolicy | ToolNotQueueable | WorkerRunning | StoreError,
  ToolQueue | ToolRegistry | Digest.Digest | SecureRandom.SecureRandom
> =>
  Layer.effect(
    ToolQueueWorker,
    Effect.tap(make(options), ({ start }) => start)
  )
