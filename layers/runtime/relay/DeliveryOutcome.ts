/**
 * What becomes of a message after a try to deliver it: removed, given back for a later try, or a dead letter. Private to
 * the relay.
 */
import { Cause, Clock, Effect, Exit, Metric } from "effect"
import { totalMetric } from "../../../src/value/Telemetry.ts"
import { DeliveryFailed, DeliveryRefused } from "../../../services/DeliveryHandlers.ts"
import type { Outbox } from "../../../services/Outbox.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { OutboxMessage } from "../../../src/delivery/OutboxMessage.ts"
import { backoffMs } from "../../../src/delivery/OutboxMessage.ts"
import { sanitiseError } from "../../../src/error/Exception.ts"
import { exceptionOf, logFault } from "../tool/FaultReport.ts"
import type { ClaimLoop } from "./ClaimLoop.ts"

/** How often a message is tried, and how long it waits before the second try, in ms; each further wait is longer. */
export interface RetryBounds {
  /** How many attempts fail before the message becomes a dead letter. */
  readonly attempts_max: number
  /** The wait before the second attempt, in ms; it doubles with each further one. */
  readonly backoff_initial_ms: number
}

/** The longest wait that a receiver may ask for. */
const wait_max_ms = 900_000

type DeliveryExit = Exit.Exit<void, DeliveryFailed | DeliveryRefused>

const delivered_total = totalMetric(
  "troupe_outbox_delivered_total",
  "Messages delivered and written down"
)
const failed_total = totalMetric("troupe_outbox_failed_total", "Tries that failed")
const dead_total = totalMetric("troupe_outbox_dead_total", "Messages that became dead letters")

const count = (metric: Metric.Counter<number>, topic: string): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(metric, { topic }), 1)

/** Counts a message of the topic as delivered: also one that was delivered without a relay. */
export const countDelivered = (topic: string): Effect.Effect<void> => count(delivered_total, topic)

/** Begins the counters of topics at 0, because an increase is seen only of a series that was there before. */
export const beginCounters = (topics: Iterable<string>): Effect.Effect<void> =>
  Effect.forEach(
    topics,
    (topic) =>
      Effect.forEach(
        [delivered_total, failed_total, dead_total],
        (metric) => Metric.update(Metric.withAttributes(metric, { topic }), 0),
        { discard: true }
      ),
    { discard: true }
  )

interface Failure {
  readonly error: string
  /** No other try can succeed. */
  readonly isFinal: boolean
  /** The least wait before the next try, in ms. */
  readonly wait_ms: number
  /** The handler failed by neither of its two declared errors. */
  readonly isBroken: boolean
}

const failureOf = (cause: Cause.Cause<DeliveryFailed | DeliveryRefused>): Failure => {
  if (Cause.hasInterruptsOnly(cause)) {
    return { error: "the handler interrupted itself", isFinal: false, isBroken: false, wait_ms: 0 }
  }
  const error = Cause.squash(cause)
  if (error instanceof DeliveryRefused) {
    return { error: error.message, isFinal: true, isBroken: false, wait_ms: 0 }
  }
  if (error instanceof DeliveryFailed) {
    const wait_ms = Math.min(error.retry_after_ms ?? 0, wait_max_ms)
    return { error: error.message, isFinal: false, isBroken: false, wait_ms }
  }
  const text = error instanceof Error ? error.message : "it threw something that is no error"
  return { error: `the handler broke: ${text}`, isFinal: false, isBroken: true, wait_ms: 0 }
}

/** Reports outcomes to the outbox under the name of the claim that took the message. None of it fails. */
export const makeDeliveryOutcomes = (
  outbox: Outbox["Service"],
  { attempts_max, backoff_initial_ms }: RetryBounds,
  { isStopping, report }: Pick<ClaimLoop<OutboxMessage>, "isStopping" | "report">
) => {
  /** Whether the outcome was written. Where it was not, the lease passes and the message is delivered again. */
  const written = (
    { id, topic }: OutboxMessage,
    write: Effect.Effect<boolean, StoreError>
  ): Effect.Effect<boolean> =>
    report(write).pipe(
      Effect.tap((held) =>
        held
          ? Effect.void
          : Effect.logWarning("the lease of a message was lost before its outcome was written")
      ),
      Effect.catch((error) =>
        Effect.as(
          Effect.logError(`the outcome of a delivery was not written: ${error.message}`),
          false
        )
      ),
      Effect.annotateLogs({ message_id: id, topic })
    )

  const deadLetter = Effect.fnUntraced(function* (
    message: OutboxMessage,
    owner: string,
    error: string
  ) {
    const { id, topic } = message
    const text = sanitiseError(error)
    if (yield* written(message, outbox.failed(id, owner, text, undefined))) {
      yield* count(dead_total, topic)
      yield* Effect.logError(`a message became a dead letter: ${text}`).pipe(
        Effect.annotateLogs({ message_id: id, topic })
      )
    }
  })

  const settle = Effect.fnUntraced(function* (
    message: OutboxMessage,
    owner: string,
    exit: DeliveryExit
  ) {
    const { attempts, id, tenant, topic } = message
    if (Exit.isSuccess(exit)) {
      if (yield* written(message, outbox.delivered(id, owner))) yield* countDelivered(topic)
      return
    }
    const now = yield* Clock.currentTimeMillis
    if (isStopping() && Cause.hasInterruptsOnly(exit.cause)) {
      // Due at once, whatever its number of tries: the message did not cause the stop.
      const text = "the process stopped before the delivery ended"
      yield* written(message, outbox.failed(id, owner, text, now))
      return
    }
    yield* count(failed_total, topic)
    const { error, isBroken, isFinal, wait_ms } = failureOf(exit.cause)
    if (isBroken) {
      const about = { message_id: id, topic, tenant }
      yield* logFault("a delivery handler broke", exceptionOf(exit.cause), about)
    }
    if (isFinal || attempts >= attempts_max) return yield* deadLetter(message, owner, error)
    const retry_at = now + Math.max(backoffMs(attempts, backoff_initial_ms), wait_ms)
    yield* written(message, outbox.failed(id, owner, sanitiseError(error), retry_at))
  })

  return { deadLetter, settle }
}
