/**
 * Delivers what waits in the outbox: claims the heads of free keys, hands each to its topic's handler, and writes down
 * what became of it. At least once: a crash between a delivery and its writing down delivers the same id again. A
 * failed try waits longer each time; after `attempts_max` the message is a dead letter.
 */
import { Cause, Clock, Context, Effect, Exit, FiberSet, Latch, Layer, Metric, Random } from "effect"
import type { Scope } from "effect"
import type { DeliveryHandler } from "../../../services/DeliveryHandlers.ts"
import {
  DeliveryFailed,
  DeliveryHandlers,
  DeliveryRefused
} from "../../../services/DeliveryHandlers.ts"
import { Outbox } from "../../../services/Outbox.ts"
import { Owners } from "../../../services/Owners.ts"
import type { StoreError } from "../../../services/TaskStore.ts"
import type { OutboxMessage } from "../../../src/delivery/Outbox.ts"
import type { MessageId, Tenant } from "../../../src/Ids.ts"
import {
  attempts_max_default,
  backoff_initial_ms,
  backoffMs
} from "../../../src/delivery/Outbox.ts"
import { sanitiseError } from "../../../src/delivery/SanitisedError.ts"
import { takeWheneverDue } from "./ClaimLoop.ts"
import { exceptionOf, logged } from "../tool/Faults.ts"
import { claiming, persistently } from "./HeldClaims.ts"

/** Times in ms. The lease is the timeout and the margin, so that it always outlives the handler. */
export interface RelayConfig {
  /**
   * Deliveries at the same time, 1 to 500. One tenant has at most half of those that the others leave, so that its slow
   * deliveries never take the last place of a relay that has more than one.
   */
  readonly concurrency: number
  /** Of one try. */
  readonly timeout_ms: number
  /** What a claim holds beyond the timeout: the time to write down the outcome. */
  readonly lease_margin_ms: number
  /** The longest wait without looking; wakes are the fast way. */
  readonly sweep_ms: number
  readonly attempts_max: number
  readonly backoff_initial_ms: number
  /** How long a stop waits for deliveries in flight before it interrupts them. */
  readonly stop_ms: number
}

export const RelayConfig = Context.Reference<RelayConfig>("troupe/layers/runtime/RelayConfig", {
  defaultValue: () => ({
    concurrency: 32,
    timeout_ms: 30_000,
    lease_margin_ms: 15_000,
    sweep_ms: 5_000,
    attempts_max: attempts_max_default,
    backoff_initial_ms,
    stop_ms: 5_000
  })
})

/**
 * Claims beyond `attempts_max` whose try never ended (the process died in it) before the message is given up without
 * another try. A crash must not cost a message its last try, and a message that kills the process must not live for ever.
 */
const crashes_max = 5

const delivered_total = Metric.counter("troupe_outbox_delivered_total", {
  description: "Messages delivered and written down",
  incremental: true
})
const failed_total = Metric.counter("troupe_outbox_failed_total", {
  description: "Tries that failed",
  incremental: true
})
const dead_total = Metric.counter("troupe_outbox_dead_total", {
  description: "Messages that became dead letters",
  incremental: true
})

const count = (metric: Metric.Counter<number>, topic: string): Effect.Effect<void> =>
  Metric.update(Metric.withAttributes(metric, { topic }), 1)

interface Failure {
  readonly error: string
  /** No other try can succeed. */
  readonly final: boolean
}

/** What a handler's exit says of the try. A defect is a failed try and its text is sanitised like any other. */
const failureOf = (cause: Cause.Cause<DeliveryFailed | DeliveryRefused>): Failure => {
  if (Cause.hasInterruptsOnly(cause)) {
    return { error: "the handler interrupted itself", final: false }
  }
  const error = Cause.squash(cause)
  if (error instanceof DeliveryRefused) return { error: error.message, final: true }
  if (error instanceof DeliveryFailed) return { error: error.message, final: false }
  return {
    error: `the handler broke: ${error instanceof Error ? error.message : "it threw something that is no error"}`,
    final: false
  }
}

/** Did the handler break, where it should have failed by one of its two errors? */
const isBroken = (cause: Cause.Cause<DeliveryFailed | DeliveryRefused>): boolean => {
  const error = Cause.squash(cause)
  const isDeclared = error instanceof DeliveryRefused || error instanceof DeliveryFailed
  return !isDeclared && !Cause.hasInterruptsOnly(cause)
}

/** A message under the name of the claim that took it. */
interface Claimed {
  readonly owner: string
  readonly message: OutboxMessage
}

/** Writes down an outcome. Where the store stays away the lease passes, and it is tried again. */
const record = (
  { message }: Claimed,
  write: Effect.Effect<boolean, StoreError>
): Effect.Effect<boolean> =>
  write.pipe(
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
    Effect.annotateLogs({ message_id: message.id, topic: message.topic })
  )

const leaseOf = ({ lease_margin_ms, timeout_ms }: RelayConfig): number =>
  timeout_ms + lease_margin_ms

/** What becomes of a message after a try. */
const outcomes = (service: Outbox["Service"], config: RelayConfig, isStopping: () => boolean) => {
  const lease_ms = leaseOf(config)
  const outbox = {
    delivered: (id: MessageId, owner: string) =>
      persistently(service.delivered(id, owner), lease_ms, isStopping),
    failed: (id: MessageId, owner: string, error: string, retry_at: number | undefined) =>
      persistently(service.failed(id, owner, error, retry_at), lease_ms, isStopping)
  }
  const bury = Effect.fnUntraced(function* (claimed: Claimed, error: string) {
    const { message, owner } = claimed
    const text = sanitiseError(error)
    if (yield* record(claimed, outbox.failed(message.id, owner, text, undefined))) {
      yield* count(dead_total, message.topic)
      yield* Effect.logError(`a message became a dead letter: ${text}`).pipe(
        Effect.annotateLogs({ message_id: message.id, topic: message.topic })
      )
    }
  })

  const settle = Effect.fnUntraced(function* (
    claimed: Claimed,
    exit: Exit.Exit<void, DeliveryFailed | DeliveryRefused>
  ) {
    const { message, owner } = claimed
    if (Exit.isSuccess(exit)) {
      if (yield* record(claimed, outbox.delivered(message.id, owner))) {
        yield* count(delivered_total, message.topic)
      }
      return
    }
    const now = yield* Clock.currentTimeMillis
    if (isStopping() && Cause.hasInterruptsOnly(exit.cause)) {
      // Given back at once, whatever its number of tries: the stop is not the message's fault.
      const text = "the process stopped before the delivery ended"
      yield* record(claimed, outbox.failed(message.id, owner, text, now))
      return
    }
    yield* count(failed_total, message.topic)
    if (isBroken(exit.cause)) {
      const about = { message_id: message.id, topic: message.topic, tenant: message.tenant }
      yield* logged("a delivery handler broke", exceptionOf(exit.cause), about)
    }
    const { error, final } = failureOf(exit.cause)
    if (final || message.attempts >= config.attempts_max) return yield* bury(claimed, error)
    const retry_at = now + backoffMs(message.attempts, config.backoff_initial_ms)
    yield* record(claimed, outbox.failed(message.id, owner, sanitiseError(error), retry_at))
  })

  return { bury, settle }
}

const attempt = (message: OutboxMessage, handler: DeliveryHandler, timeout_ms: number) =>
  Effect.suspend(() => handler(message)).pipe(
    Effect.timeoutOrElse({
      duration: timeout_ms,
      orElse: () =>
        Effect.fail(new DeliveryFailed({ message: `no answer within ${timeout_ms} ms` }))
    }),
    Effect.withSpan("OutboxRelay.deliver", {
      attributes: { topic: message.topic, message_id: message.id, attempt: message.attempts }
    })
  )

/** How many deliveries of each tenant are on their way, and how many more it may have. */
const makePlaces = (concurrency: number) => {
  const held = new Map<Tenant, number>()
  let in_flight = 0
  // Rounded up: the last place is anybody's.
  const room = (mine: number) => Math.max(0, Math.ceil((concurrency - in_flight + mine) / 2) - mine)
  return {
    /** Places that are free. */
    free: () => concurrency - in_flight,
    room: () => room(0),
    rooms: () => new Map([...held].map(([tenant, mine]) => [tenant, room(mine)])),
    take: (tenant: Tenant) => {
      in_flight++
      held.set(tenant, (held.get(tenant) ?? 0) + 1)
    },
    leave: (tenant: Tenant) => {
      in_flight--
      const left = (held.get(tenant) ?? 1) - 1
      if (left > 0) held.set(tenant, left)
      else held.delete(tenant)
    }
  }
}

const make: Effect.Effect<void, StoreError, Outbox | DeliveryHandlers | Scope.Scope> = Effect.gen(
  function* () {
    const outbox = yield* Outbox
    const { agents, byTopic } = yield* DeliveryHandlers
    const config = yield* RelayConfig
    if (byTopic.size === 0) return
    const relay = `relay-${(yield* Random.nextInt).toString(36)}-${(yield* Random.nextInt).toString(36)}`
    const routes = { topics: [...byTopic.keys()], agents }
    const lease_ms = leaseOf(config)
    const bell = yield* Latch.make(true)
    const running = yield* FiberSet.make<void>()
    const places = makePlaces(config.concurrency)
    const claimed = claiming(outbox.release)
    let after: Tenant | undefined
    let claims = 0
    let stopping = false
    const { bury, settle } = outcomes(outbox, config, () => stopping)

    const deliver = (claimed: Claimed): Effect.Effect<void> =>
      Effect.uninterruptibleMask((restore) => {
        const { message } = claimed
        // Claims name only topics that have a handler.
        const handler = byTopic.get(message.topic)!
        const done =
          message.attempts > config.attempts_max + crashes_max
            ? bury(claimed, `${message.attempts - 1} tries began, and the last ones never ended`)
            : Effect.flatMap(
                Effect.exit(restore(attempt(message, handler, config.timeout_ms))),
                (exit) => settle(claimed, exit)
              )
        const over = Effect.sync(() => {
          places.leave(message.tenant)
          // There is room again, and the key's next message may be due.
          bell.openUnsafe()
        })
        return Effect.ensuring(done, over)
      })

    /** Claims as much as there is room for and starts it; how many. A stop cannot fall between the two. */
    const take = Effect.uninterruptible(
      Effect.gen(function* () {
        const limit = places.free()
        if (limit <= 0) return undefined
        // A name of its own for each claim: a try that outlived its lease cannot end a later one of the same relay.
        const owner = `${relay}.${++claims}`
        const room = places.room()
        const rooms = places.rooms()
        const messages = yield* claimed(
          owner,
          outbox.claim({ ...routes, owner, limit, lease_ms, after, room, rooms })
        )
        for (const message of messages) {
          places.take(message.tenant)
          after = message.tenant
          yield* FiberSet.run(running, deliver({ owner, message }))
        }
        return messages.length
      })
    )

    yield* Effect.addFinalizer(() => {
      stopping = true
      return Effect.asVoid(
        Effect.timeoutOption(Effect.interruptible(FiberSet.awaitEmpty(running)), config.stop_ms)
      )
    })
    yield* (yield* Owners).attend(relay, agents)
    yield* outbox.written(() => bell.openUnsafe())
    yield* Effect.forkScoped(
      takeWheneverDue({
        name: "outbox",
        take,
        nextDueAt: outbox.nextDueAt(routes),
        bell,
        sweep_ms: config.sweep_ms
      })
    )
  }
)

export const layer: Layer.Layer<never, StoreError, Outbox | DeliveryHandlers> =
  Layer.effectDiscard(make)
