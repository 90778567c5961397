/**
 * One delivery of a call, from its claim to its end: execute, publish, acknowledge; or back to the queue. Private to the
 * worker.
 */
import { Clock, Deferred, Effect, Exit, Fiber, Latch, Metric, Result } from "effect"
import type { ResultMessage } from "../../../src/semstreams/CallMessage.ts"
import { executeSubject } from "../../../src/tool/ToolMessage.ts"
import type { StoreError } from "../../../services/TaskStore.ts"
import type { ToolDelivery, ToolQueue } from "../../../services/ToolQueue.ts"
import { exceptionOf, logFault } from "../tool/Faults.ts"
import type { ClaimLoop } from "../relay/ClaimLoop.ts"
import type { Executed, QueueExecutor } from "./QueueExecutor.ts"
import type { ToolQueueConfig } from "./ToolQueueConfig.ts"

const deliveries_total = Metric.counter("troupe_tool_queue_deliveries_total", {
  description: "Deliveries of calls from a queue, by what came of them",
  incremental: true
})
const dead_total = Metric.counter("troupe_tool_queue_dead_total", {
  description: "Calls that could not be run",
  incremental: true
})

const count = (status: "success" | "error" | "given_back"): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(deliveries_total, { status }), 1)

export interface Counts {
  processed: number
  errors: number
}

const textOf = (value: unknown): string | undefined =>
  Result.getOrUndefined(Result.try(() => JSON.stringify(value) as string | undefined))

/** Passes on the last of what a call shows: that takes the place of what it showed before, so that none has to wait. */
const makeShown = (queue: ToolQueue["Service"], id: string, show_ms: number) => {
  const wakeup = Latch.makeUnsafe(false)
  let last: unknown
  return {
    show: (value: unknown) => {
      last = value
      wakeup.openUnsafe()
    },
    pass: Effect.gen(function* () {
      for (;;) {
        yield* wakeup.await
        yield* wakeup.close
        const text = textOf(last)
        last = undefined
        // Best effort: nothing depends on it.
        if (text !== undefined) yield* Effect.ignore(queue.show(id, text))
        yield* Effect.sleep(show_ms)
      }
    })
  }
}

/** Runs one delivery to its end, whatever that is. Never fails. */
export const make = (
  queue: ToolQueue["Service"],
  config: ToolQueueConfig,
  executor: QueueExecutor,
  counts: Counts,
  { isStopping, report }: Pick<ClaimLoop<ToolDelivery>, "isStopping" | "report">
) => {
  const publish = Effect.fnUntraced(function* (
    owner: string,
    { id }: ToolDelivery,
    result: ResultMessage,
    dead: string | undefined
  ) {
    yield* report(queue.publish(id, result))
    const failed = (result.error ?? "") !== ""
    if (failed) counts.errors++
    else counts.processed++
    yield* count(failed ? "error" : "success")
    if (dead !== undefined) yield* Metric.update(dead_total, 1)
    const over =
      dead === undefined ? queue.acknowledge(id, owner) : queue.failed(id, owner, dead, undefined)
    yield* report(over)
  })

  const giveBack = (owner: string, { deliveries, id }: ToolDelivery, why: string, at?: number) =>
    Effect.gen(function* () {
      counts.errors++
      yield* count("given_back")
      const now = yield* Clock.currentTimeMillis
      const { backoff_ms } = config
      const wait = backoff_ms[deliveries - 1] ?? backoff_ms.at(-1) ?? 0
      yield* report(queue.failed(id, owner, why, at ?? now + wait))
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

  const executed = (owner: string, delivery: ToolDelivery): Effect.Effect<Executed> => {
    const { deliveries, id } = delivery
    const { deliveries_max } = config
    if (deliveries > deliveries_max) {
      const why = `${deliveries_max} deliveries ended without a result`
      // To ask is to run code as well, and code may end a worker.
      return executor.giveUp(delivery, why, deliveries <= 2 * deliveries_max)
    }
    const begin = Effect.orElseSucceed(queue.begin(id, owner), () => false)
    return Effect.gen(function* () {
      const shown = makeShown(queue, id, config.show_ms)
      const passing = yield* Effect.forkChild(shown.pass)
      const line = { begin, show: shown.show }
      return yield* Effect.ensuring(executor.execute(delivery, line), Fiber.interrupt(passing))
    })
  }

  const run = (owner: string, delivery: ToolDelivery, lost: Deferred.Deferred<undefined>) =>
    executed(owner, delivery).pipe(
      Effect.raceFirst(Deferred.await(lost)),
      Effect.timeoutOrElse({
        duration: config.message_ms_max,
        orElse: () => Effect.interrupt
      })
    )

  const deliver = (owner: string, delivery: ToolDelivery) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        if (delivery.result !== undefined) {
          // It ran, and was not acknowledged: its record is its answer.
          yield* report(queue.acknowledge(delivery.id, owner))
          return
        }
        const lost = yield* Deferred.make<undefined>()
        yield* Effect.forkChild(Effect.interruptible(heart(owner, delivery, lost)))
        const exit = yield* Effect.exit(restore(run(owner, delivery, lost)))
        if (Exit.isFailure(exit)) {
          const stopping = isStopping()
          const why = stopping ? "the worker stopped" : "it did not end in time"
          return yield* giveBack(owner, delivery, why, stopping ? 0 : undefined)
        }
        const executed = exit.value
        if (executed === undefined) {
          return yield* giveBack(owner, delivery, "it passed to another worker")
        }
        return executed._tag === "GivesBack"
          ? yield* giveBack(owner, delivery, executed.why, executed.retry_at)
          : yield* publish(owner, delivery, executed.result, executed.dead)
      }).pipe(
        Effect.catch((error: StoreError) =>
          giveBack(owner, delivery, `its result was not published: ${error.message}`)
        ),
        Effect.catchCause((cause) =>
          Effect.andThen(
            logFault("a delivery broke", exceptionOf(cause), {}),
            giveBack(owner, delivery, "its delivery broke")
          )
        ),
        Effect.annotateLogs({ call_id: delivery.id, subject: executeSubject(delivery.tool) })
      )
    )

  return deliver
}
