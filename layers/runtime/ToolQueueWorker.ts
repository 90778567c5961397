/**
 * Takes calls of tools from the queue and runs them, in the order execute, publish, acknowledge: a crash between any two
 * delivers the call again. A working call keeps its lease; one that cannot be run is dead, and its sender is told.
 */
import {
  Cause,
  Clock,
  Context,
  Deferred,
  Effect,
  Exit,
  FiberSet,
  Latch,
  Layer,
  Random,
  Schedule,
  Schema,
  Scope
} from "effect"
import type { Digest, SecureRandom } from "effect/crypto"
import type { ToolResult } from "../../src/tool/SemStreamsCall.ts"
import { consumerNameForTool, executeSubject } from "../../src/tool/ToolMessage.ts"
import type { StoreError } from "../../services/TaskStore.ts"
import type { ToolDelivery } from "../../services/ToolQueue.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import type { ToolRegistry } from "../../services/ToolRegistry.ts"
import type { Options, QueueExecutor, ToolNotQueueable } from "./QueueExecutor.ts"
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
>()("troupe/layers/runtime/ToolQueueWorker") {}

/** The wait after a queue did not answer. */
const away_ms = 1_000
/** The first wait after a look that found nothing though something is due. */
const idle_initial_ms = 25
const prune_every_ms = 60_000

/** A queue that is away is asked again for about 3 s; then the lease passes, and the call is delivered again. */
const patient = Schedule.exponential("100 millis").pipe(Schedule.upTo({ times: 5 }))

/** What a worker does at one time of it, from its start to its stop. */
interface Session {
  readonly scope: Scope.Closeable
  readonly started_at: number
}

interface Counts {
  processed: number
  errors: number
}

/** Runs one delivery to its end, whatever that is. Never fails. */
const deliveries = (
  queue: ToolQueue["Service"],
  config: ToolQueueConfig,
  executor: QueueExecutor,
  counts: Counts
) => {
  const publish = Effect.fnUntraced(function* (
    owner: string,
    { id }: ToolDelivery,
    result: ToolResult,
    dead: string | undefined
  ) {
    yield* Effect.retry(queue.publish(id, result), patient)
    if ((result.error ?? "") === "") counts.processed++
    else counts.errors++
    const over =
      dead === undefined ? queue.acknowledge(id, owner) : queue.failed(id, owner, dead, undefined)
    yield* Effect.retry(over, patient)
  })

  const giveBack = (
    owner: string,
    { deliveries, id }: ToolDelivery,
    why: string,
    at_once: boolean
  ) =>
    Effect.gen(function* () {
      counts.errors++
      const now = yield* Clock.currentTimeMillis
      const { backoff_ms } = config
      const wait = at_once ? 0 : (backoff_ms[deliveries - 1] ?? backoff_ms.at(-1) ?? 0)
      yield* Effect.retry(queue.failed(id, owner, why, now + wait), patient)
    }).pipe(
      // Then the lease passes, which gives it back too.
      Effect.catch(({ message }) => Effect.logWarning(`a call was not given back: ${message}`))
    )

  /** Keeps the lease until the delivery is over; ends when another worker has the call. */
  const heart = (owner: string, { id }: ToolDelivery, lost: Deferred.Deferred<undefined>) =>
    Effect.gen(function* () {
      for (;;) {
        yield* Effect.sleep(config.ack_wait_ms / 3)
        // One beat may be missed, since the lease outlives two.
        const beat = queue.extend(id, owner, config.ack_wait_ms)
        if (!(yield* Effect.orElseSucceed(beat, () => true))) break
      }
      yield* Deferred.succeed(lost, undefined)
    })

  const run = (owner: string, delivery: ToolDelivery, lost: Deferred.Deferred<undefined>) =>
    executor
      .execute(
        delivery,
        Effect.orElseSucceed(queue.begin(delivery.id, owner), () => false)
      )
      .pipe(
        Effect.raceFirst(Deferred.await(lost)),
        Effect.timeoutOrElse({
          duration: config.message_ms_max,
          orElse: () => Effect.interrupt
        })
      )

  const deliver = (owner: string, delivery: ToolDelivery, isStopping: () => boolean) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        if (delivery.result !== undefined) {
          // It ran, and was not acknowledged: its record is its answer.
          yield* Effect.retry(queue.acknowledge(delivery.id, owner), patient)
          return
        }
        if (delivery.deliveries > config.deliveries_max) {
          const why = `${config.deliveries_max} deliveries ended without a result`
          return yield* publish(owner, delivery, executor.giveUp(delivery), why)
        }
        const lost = yield* Deferred.make<undefined>()
        yield* Effect.forkChild(Effect.interruptible(heart(owner, delivery, lost)))
        const exit = yield* Effect.exit(restore(run(owner, delivery, lost)))
        if (Exit.isFailure(exit)) {
          const why = isStopping() ? "the worker stopped" : "it did not end in time"
          return yield* giveBack(owner, delivery, why, isStopping())
        }
        if (exit.value === undefined) {
          return yield* giveBack(owner, delivery, "it could not be begun", false)
        }
        yield* publish(owner, delivery, exit.value.result, exit.value.dead)
      }).pipe(
        Effect.catch((error: StoreError) =>
          giveBack(owner, delivery, `its result was not published: ${error.message}`, false)
        ),
        Effect.catchCause((cause) => Effect.logError("a delivery broke", Cause.squash(cause))),
        Effect.annotateLogs({ call_id: delivery.id, subject: executeSubject(delivery.tool) })
      )
    )

  return deliver
}

const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<
  ToolQueueWorker["Service"],
  ToolNotQueueable,
  ToolQueue | ToolRegistry | Digest.Digest | SecureRandom.SecureRandom | Scope.Scope
> {
  const queue = yield* ToolQueue
  const config = yield* ToolQueueConfig
  const executor = yield* Executor.make(options)
  const clock = yield* Clock.Clock
  const name = `worker-${(yield* Random.nextInt).toString(36)}-${(yield* Random.nextInt).toString(36)}`
  const tools = executor.names
  const counts: Counts = { processed: 0, errors: 0 }
  const deliver = deliveries(queue, config, executor, counts)
  let session: Session | undefined
  let claims = 0
  let pruned_at = 0

  const session_ = Effect.fnUntraced(function* (scope: Scope.Closeable) {
    const bell = yield* Latch.make(true)
    const running = yield* FiberSet.make<void>()
    let in_flight = 0
    let stopping = false

    const take = Effect.uninterruptible(
      Effect.gen(function* () {
        const limit = config.concurrency - in_flight
        if (limit <= 0) return undefined
        // A name of its own for each claim: a try that outlived its lease cannot end a later one.
        const owner = `${name}.${++claims}`
        const all = yield* queue.claim({ owner, tools, limit, lease_ms: config.ack_wait_ms })
        for (const delivery of all) {
          in_flight++
          const over = Effect.sync(() => {
            in_flight--
            bell.openUnsafe()
          })
          yield* FiberSet.run(
            running,
            Effect.ensuring(
              deliver(owner, delivery, () => stopping),
              over
            )
          )
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
    yield* queue.sent(() => bell.openUnsafe())
    yield* queue.nextDueAt(tools)
    yield* Effect.forkScoped(
      watch(Effect.tap(take, prune), queue.nextDueAt(tools), bell, config.sweep_ms)
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

/** Takes whenever there may be something: at a bell, at the next due time, and at the latest after the sweep. For ever. */
const watch = (
  take: Effect.Effect<number | undefined, StoreError>,
  nextDueAt: Effect.Effect<number | undefined, StoreError>,
  bell: Latch.Latch,
  sweep_ms: number
): Effect.Effect<never> => {
  let idle_ms = idle_initial_ms

  const pause = Effect.gen(function* () {
    const due = yield* nextDueAt
    const now = yield* Clock.currentTimeMillis
    if (due === undefined) return sweep_ms
    if (due > now) return Math.min(due - now, sweep_ms)
    idle_ms = Math.min(idle_ms * 2, sweep_ms)
    return idle_ms
  })

  const look = Effect.gen(function* () {
    yield* bell.await
    yield* bell.close
    const taken = yield* take
    // Without room a call that ends rings.
    if (taken === undefined) return
    if (taken > 0) idle_ms = idle_initial_ms
    else yield* Effect.timeoutOption(bell.await, yield* pause)
    yield* bell.open
  })

  return look.pipe(
    Effect.catch(({ message }) =>
      Effect.logWarning(`the queue of tool calls did not answer: ${message}`).pipe(
        Effect.andThen(Effect.sleep(Math.min(away_ms, sweep_ms))),
        Effect.andThen(bell.open)
      )
    ),
    Effect.forever
  )
}

/** A worker that does not run yet. It stops with its scope. */
export const layerIdle = (
  options: Options = {}
): Layer.Layer<
  ToolQueueWorker,
  ToolNotQueueable,
  ToolQueue | ToolRegistry | Digest.Digest | SecureRandom.SecureRandom
> => Layer.effect(ToolQueueWorker, make(options))

/** A worker that runs for as long as its scope. */
export const layer = (
  options: Options = {}
): Layer.Layer<
  ToolQueueWorker,
  ToolNotQueueable | WorkerRunning | StoreError,
  ToolQueue | ToolRegistry | Digest.Digest | SecureRandom.SecureRandom
> =>
  Layer.effect(
    ToolQueueWorker,
    Effect.tap(make(options), ({ start }) => start)
  )
