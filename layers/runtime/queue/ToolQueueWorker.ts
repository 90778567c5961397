/**
 * Takes calls of tools from the queue and runs them, in the order execute, publish, acknowledge: a crash between any two
 * delivers the call again. A working call keeps its lease; one that cannot be run is dead, and its sender is told.
 */
import { Clock, Context, Effect, Exit, FiberSet, Latch, Layer, Random, Schema, Scope } from "effect"
import type { Digest, SecureRandom } from "effect/crypto"
import type { Tenant } from "../../../src/Ids.ts"
import type { MisdeclaredPolicy } from "../../../src/permission/PolicyCheck.ts"
import { consumerNameForTool } from "../../../src/tool/ToolMessage.ts"
import { Owners } from "../../../services/Owners.ts"
import type { StoreError } from "../../../services/TaskStore.ts"
import { ToolQueue } from "../../../services/ToolQueue.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import { takeWheneverDue } from "../relay/ClaimLoop.ts"
import { claiming } from "../relay/HeldClaims.ts"
import type { Options, ToolNotQueueable } from "./QueueExecutor.ts"
import * as QueueDelivery from "./QueueDelivery.ts"
import * as Executor from "./QueueExecutor.ts"
import { ToolQueueConfig } from "./ToolQueueConfig.ts"

/** It runs already. */
export class WorkerRunning extends Schema.TaggedError<WorkerRunning>()("WorkerRunning", {}) {}

export interface WorkerHealth {
  readonly healthy: boolean
  /** Calls that came to a value. */
  readonly processed: number
  /** Calls that came to an error, and deliveries that came to nothing. */
  readonly errors: number
  /** Errors of both together; 0 where there were none. */
  readonly error_rate: number
  /** Since its start, in ms; 0 while it does not run. */
  readonly uptime_ms: number
}

export class ToolQueueWorker extends Context.Service<
  ToolQueueWorker,
  {
    /** Fails where the queue does not answer: it is not asked before. */
    readonly start: Effect.Effect<void, WorkerRunning | StoreError>
    /**
     * Takes no more calls, lets those on their way end for `stop_ms`, and gives back the others. Nothing where it does
     * not run.
     */
    readonly stop: Effect.Effect<void>
    readonly health: Effect.Effect<WorkerHealth>
    /** The names that its tools are called by. */
    readonly tools: ReadonlyArray<string>
    /** One for each of them, as SemStreams names who consumes a tool's calls. */
    readonly consumers: ReadonlyArray<string>
  }
>()("troupe/layers/runtime/queue/ToolQueueWorker") {}

const prune_every_ms = 60_000

/** What a worker does at one time of it, from its start to its stop. */
interface Session {
  readonly scope: Scope.Closeable
  readonly started_at: number
}

const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<
  ToolQueueWorker["Service"],
  MisdeclaredPolicy | ToolNotQueueable,
  ToolQueue | ToolRegistry | Digest.Digest | SecureRandom.SecureRandom | Scope.Scope
> {
  const queue = yield* ToolQueue
  const config = yield* ToolQueueConfig
  const executor = yield* Executor.make(options)
  const clock = yield* Clock.Clock
  const name = `worker-${(yield* Random.nextInt).toString(36)}-${(yield* Random.nextInt).toString(36)}`
  const tools = executor.names
  const counts: QueueDelivery.Counts = { processed: 0, errors: 0 }
  let session: Session | undefined
  let claims = 0
  let pruned_at = 0

  const { offer_ms } = config
  const announce = queue.announce({
    worker: name,
    provider: options.provider ?? "worker",
    tools: executor.specs,
    lease_ms: offer_ms
  })

  /** Says what it runs, again and again until the scope closes, and then that it is gone. A store that is away may miss some. */
  const offered = Effect.gen(function* () {
    yield* announce
    yield* Effect.addFinalizer(() =>
      Effect.timeoutOption(Effect.ignore(queue.renew(name, 0)), config.stop_ms)
    )
    const again = Effect.flatMap(queue.renew(name, offer_ms), (known) =>
      known ? Effect.void : announce
    )
    yield* Effect.ignore(again).pipe(Effect.delay(offer_ms / 3), Effect.forever, Effect.forkScoped)
  })

  const owners = yield* Owners
  const session_ = Effect.fnUntraced(function* (scope: Scope.Closeable) {
    const bell = yield* Latch.make(true)
    const running = yield* FiberSet.make<void>()
    const claimed = claiming(queue.release)
    let in_flight = 0
    let after: Tenant | undefined
    let stopping = false
    const deliver = QueueDelivery.make(queue, config, executor, counts, () => stopping)

    const take = Effect.uninterruptible(
      Effect.gen(function* () {
        const limit = config.concurrency - in_flight
        if (limit <= 0) return undefined
        // A name of its own for each claim: a try that outlived its lease cannot end a later one.
        const owner = `${name}.${++claims}`
        const all = yield* claimed(
          owner,
          queue.claim({ owner, tools, limit, after, lease_ms: config.ack_wait_ms })
        )
        for (const delivery of all) {
          in_flight++
          after = delivery.tenant
          const over = Effect.sync(() => {
            in_flight--
            bell.openUnsafe()
          })
          yield* FiberSet.run(running, Effect.ensuring(deliver(owner, delivery), over))
        }
        return all.length
      })
    )

    const prune = Effect.suspend(() => {
      const now = clock.currentTimeMillisUnsafe()
      if (now - pruned_at < prune_every_ms) return Effect.void
      pruned_at = now
      return Effect.asVoid(queue.prune(now - config.result_ms))
    })

    yield* Effect.addFinalizer(() => {
      stopping = true
      return Effect.asVoid(
        Effect.timeoutOption(Effect.interruptible(FiberSet.awaitEmpty(running)), config.stop_ms)
      )
    })
    yield* owners.attend(name)
    yield* offered
    yield* queue.sent(() => bell.openUnsafe())
    yield* queue.nextDueAt(tools)
    yield* Effect.forkScoped(
      takeWheneverDue({
        name: "queue of tool calls",
        take: Effect.tap(take, prune),
        nextDueAt: queue.nextDueAt(tools),
        bell,
        sweep_ms: config.sweep_ms
      })
    )
    session = { scope, started_at: clock.currentTimeMillisUnsafe() }
  })

  const stop = Effect.suspend(() => {
    const running = session
    session = undefined
    return running === undefined ? Effect.void : Scope.close(running.scope, Exit.void)
  })

  const start = Effect.gen(function* () {
    if (session !== undefined) return yield* new WorkerRunning()
    const scope = yield* Scope.make()
    yield* session_(scope).pipe(
      Scope.provide(scope),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
  })

  yield* Effect.addFinalizer(() => stop)
  return ToolQueueWorker.of({
    start,
    stop,
    tools,
    consumers: tools.map((each) => consumerNameForTool(each, options.consumer_name_suffix)),
    health: Effect.sync(() => {
      const { errors, processed } = counts
      return {
        healthy: session !== undefined,
        processed,
        errors,
        error_rate: errors === 0 ? 0 : errors / (errors + processed),
        uptime_ms: session === undefined ? 0 : clock.currentTimeMillisUnsafe() - session.started_at
      }
    })
  })
})

/** A worker that does not run yet. It stops with its scope. */
export const layerIdle = (
  options: Options = {}
): Layer.Layer<
  ToolQueueWorker,
  MisdeclaredPolicy | ToolNotQueueable,
  ToolQueue | ToolRegistry | Digest.Digest | SecureRandom.SecureRandom
> => Layer.effect(ToolQueueWorker, make(options))

/** A worker that runs for as long as its scope. */
export const layer = (
  options: Options = {}
): Layer.Layer<
  ToolQueueWorker,
  MisdeclaredPolicy | ToolNotQueueable | WorkerRunning | StoreError,
  ToolQueue | ToolRegistry | Digest.Digest | SecureRandom.SecureRandom
> =>
  Layer.effect(
    ToolQueueWorker,
    Effect.tap(make(options), ({ start }) => start)
  )
