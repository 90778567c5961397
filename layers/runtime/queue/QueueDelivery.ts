/**
 * One delivery of a call, from its claim to its end: execute, publish, acknowledge; or give back to the queue. Private to
 * the worker.
 */
import { Clock, Deferred, Effect, Exit, Fiber, Latch, Metric, Result } from "effect"
import { totalMetric } from "../../../src/value/Telemetry.ts"
import type { ResultMessage } from "../../../src/queue/CallMessage.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { ToolDelivery, ToolQueue } from "../../../services/ToolQueue.ts"
import { exceptionOf, logFault } from "../tool/FaultReport.ts"
import type { ClaimLoop } from "../relay/ClaimLoop.ts"
import { logAnnotationsOf } from "./QueuedCall.ts"
import type { QueueExecutor } from "./QueueExecutor.ts"
import type { Executed } from "./QueueReply.ts"
import type { ToolQueueConfig } from "./ToolQueueConfig.ts"

const deliveries_total = totalMetric(
  "troupe_tool_queue_deliveries_total",
  "Deliveries of calls from a queue, by what came of them"
)
const dead_total = totalMetric("troupe_tool_queue_dead_total", "Calls that could not be run")

const statuses = ["success", "error", "given_back"] as const

const count = (status: (typeof statuses)[number], by: 0 | 1 = 1): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(deliveries_total, { status }), by)

/** Begins the counters at 0, so that the first dead call after a start is an increase. */
export const beginCounters: Effect.Effect<void> = Effect.andThen(
  Metric.update(dead_total, 0),
  Effect.forEach(statuses, (status) => count(status, 0), { discard: true })
)

/** Since the worker was made. */
export interface Counts {
  /** Calls that ended with a value. */
  processed: number
  /** Calls that ended with an error, and deliveries without a result. */
  errors: number
}

/** What a worker runs its deliveries with. */
export interface DeliveryWorker extends Pick<ClaimLoop<ToolDelivery>, "isStopping" | "report"> {
  readonly queue: ToolQueue["Service"]
  readonly config: ToolQueueConfig
  readonly executor: QueueExecutor
  readonly counts: Counts
}

/** A delivery under the name of the claim that took it. */
interface ClaimedDelivery {
  readonly delivery: ToolDelivery
  readonly owner: string
}

const jsonOf = (value: unknown): string | undefined =>
  Result.getOrUndefined(Result.try((): string | undefined => JSON.stringify(value)))

/** Passes on the last preliminary result of a call, at most one every `show_ms`; a newer one replaces one that waits. */
const makePreliminary = (queue: ToolQueue["Service"], id: string, show_ms: number) => {
  const wakeup = Latch.makeUnsafe(false)
  let last: unknown
  return {
    show: (value: unknown) => {
      last = value
      wakeup.openUnsafe()
    },
    passOn: Effect.gen(function* () {
      for (;;) {
        yield* wakeup.await
        yield* wakeup.close
        const json = jsonOf(last)
        last = undefined
        // Best effort: nothing depends on it.
        if (json !== undefined) yield* Effect.ignore(queue.show(id, json))
        yield* Effect.sleep(show_ms)
      }
    })
  }
}

const publish = Effect.fnUntraced(function* (
  { counts, queue, report }: DeliveryWorker,
  { delivery: { id }, owner }: ClaimedDelivery,
  result: ResultMessage,
  dead: string | undefined
) {
  yield* report(queue.publish(id, result))
  const failed = (result.error ?? "") !== ""
  if (failed) counts.errors++
  else counts.processed++
  yield* count(failed ? "error" : "success")
  if (dead !== undefined) yield* Metric.update(dead_total, 1)
  yield* report(
    dead === undefined ? queue.acknowledge(id, owner) : queue.failed(id, owner, dead, undefined)
  )
})

/** Never fails: where it cannot be written, the lease passes, which gives the call back too. */
const giveBack = (
  { config, counts, queue, report }: DeliveryWorker,
  { delivery: { deliveries, id }, owner }: ClaimedDelivery,
  why: string,
  retry_at?: number
) =>
  Effect.gen(function* () {
    counts.errors++
    yield* count("given_back")
    const now = yield* Clock.currentTimeMillis
    const wait_ms = config.backoff_ms[deliveries - 1] ?? config.backoff_ms.at(-1) ?? 0
    yield* report(queue.failed(id, owner, why, retry_at ?? now + wait_ms))
  }).pipe(Effect.catch(({ message }) => Effect.logWarning(`a call was not given back: ${message}`)))

/** Extends the lease until the delivery is over; ends, and completes `lost`, when another worker has the call. */
const keepLease = Effect.fnUntraced(function* (
  { config, queue }: DeliveryWorker,
  { delivery, owner }: ClaimedDelivery,
  lost: Deferred.Deferred<undefined>
) {
  let held = true
  while (held) {
    yield* Effect.sleep(config.ack_wait_ms / 3)
    // One extension may fail or break, since the lease outlives two of them.
    const extension = queue.extend(delivery.id, owner, config.ack_wait_ms)
    held = yield* Effect.catchCause(extension, () => Effect.succeed(true))
  }
  yield* Deferred.succeed(lost, undefined)
})

/** `reconcile` is code of the tool as well, and may be what ends the worker: it is not tried forever. */
const mayReconcile = ({ config }: DeliveryWorker, { deliveries }: ToolDelivery): boolean =>
  deliveries <= 2 * config.deliveries_max

const execute = (
  worker: DeliveryWorker,
  { delivery, owner }: ClaimedDelivery
): Effect.Effect<Executed> => {
  const { config, executor, queue } = worker
  const { deliveries, id } = delivery
  const { deliveries_max, show_ms } = config
  if (deliveries > deliveries_max) {
    const why = `${deliveries_max} deliveries ended without a result`
    return executor.giveUp(delivery, { why, mayReconcile: mayReconcile(worker, delivery) })
  }
  const begin = Effect.orElseSucceed(queue.begin(id, owner), () => false)
  return Effect.gen(function* () {
    const { passOn, show } = makePreliminary(queue, id, show_ms)
    const passing = yield* Effect.forkChild(passOn)
    return yield* Effect.ensuring(
      executor.execute(delivery, { begin, show }),
      Fiber.interrupt(passing)
    )
  })
}

/** Executes the call and reports the answer, or gives the call back. Fails where an answer could not be reported. */
const runOnce = (
  worker: DeliveryWorker,
  claimed: ClaimedDelivery,
  restore: <A>(effect: Effect.Effect<A>) => Effect.Effect<A>
) =>
  Effect.gen(function* () {
    const { config, executor, isStopping, queue, report } = worker
    const { delivery, owner } = claimed
    if (delivery.result !== undefined) {
      // An earlier delivery ran it and did not get as far as to acknowledge it.
      yield* report(queue.acknowledge(delivery.id, owner))
      return
    }
    const lost = yield* Deferred.make<undefined>()
    yield* Effect.forkChild(Effect.interruptible(keepLease(worker, claimed, lost)))
    const bounded = Effect.timeoutOrElse(execute(worker, claimed), {
      duration: config.message_ms_max,
      orElse: () => Effect.interrupt
    })
    const waited = mayReconcile(worker, delivery)
      ? Effect.andThen(executor.waitForLostAttempt(delivery), bounded)
      : bounded
    const exit = yield* waited.pipe(Effect.raceFirst(Deferred.await(lost)), restore, Effect.exit)
    if (Exit.isFailure(exit)) {
      return isStopping()
        ? yield* giveBack(worker, claimed, "the worker stopped", 0)
        : yield* giveBack(worker, claimed, "it did not end in time")
    }
    const executed = exit.value
    if (executed === undefined) {
      return yield* giveBack(worker, claimed, "it passed to another worker")
    }
    return executed._tag === "GivesBack"
      ? yield* giveBack(worker, claimed, executed.why)
      : yield* publish(worker, claimed, executed.result, executed.dead)
  })

/** Runs one delivery to its end, whatever that is. Never fails. */
export const runDelivery = (
  worker: DeliveryWorker,
  delivery: ToolDelivery,
  owner: string
): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) => {
    const claimed = { delivery, owner }
    return runOnce(worker, claimed, restore).pipe(
      Effect.catch((error: StoreError) =>
        giveBack(worker, claimed, `its result was not published: ${error.message}`)
      ),
      Effect.catchCause((cause) =>
        Effect.andThen(
          logFault("a delivery broke", exceptionOf(cause), {}),
          giveBack(worker, claimed, "its delivery broke")
        )
      ),
      Effect.annotateLogs(logAnnotationsOf(delivery))
    )
  })
