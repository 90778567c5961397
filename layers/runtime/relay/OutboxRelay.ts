/**
 * Delivers the messages of the outbox: a claim loop takes the heads of free keys, hands each to the handler of its topic,
 * and reports what became of it. At least once: a crash between a delivery and its report delivers the same id again. A
 * failed try is followed by a longer wait each time; after `attempts_max` tries the message is a dead letter.
 */
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import type { DeliveryHandler } from "../../../services/DeliveryHandlers.ts"
import { DeliveryFailed, DeliveryHandlers } from "../../../services/DeliveryHandlers.ts"
import { Outbox } from "../../../services/Outbox.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { OutboxMessage } from "../../../src/delivery/OutboxMessage.ts"
import { attempts_max_default, backoff_initial_ms } from "../../../src/delivery/OutboxMessage.ts"
import type { ClaimLoopConfig, ClaimRequest } from "./ClaimLoop.ts"
import { makeClaimLoop, makeClaimNames } from "./ClaimLoop.ts"
import type { RetryBounds } from "./DeliveryOutcome.ts"
import { beginCounters, makeDeliveryOutcomes } from "./DeliveryOutcome.ts"

/**
 * One tenant has at most half of the places that the others leave free, so that its slow deliveries never take the last
 * place of a relay that has more than one. Times in ms.
 */
export interface RelayConfig extends ClaimLoopConfig, RetryBounds {
  /** Of one try. */
  readonly timeout_ms: number
  /** How long a claim outlives the timeout: the time to report the outcome. */
  readonly lease_margin_ms: number
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
 * Claims beyond `attempts_max` whose try never ended, because the process died in it, before the message is a dead letter
 * without another try. So a crash costs a message no try, and a message that kills the process is not tried forever.
 */
const crashes_max = 5

/** How many messages one tenant may have taken, and how many those that have some in flight. */
const roomsOf = ({ in_flight, limit }: ClaimRequest) => {
  // Rounded up: the last place is anybody's.
  const room = (mine: number) => Math.max(0, Math.ceil((limit + mine) / 2) - mine)
  return {
    room: room(0),
    rooms: new Map([...in_flight].map(([tenant, mine]) => [tenant, room(mine)]))
  }
}

/** Of a message of a topic that the claim did not name. */
const unrouted: DeliveryHandler = ({ topic }) =>
  Effect.die(
    new Error(`the outbox gave a message of the topic ${topic}, which no handler delivers`)
  )

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

const make: Effect.Effect<void, StoreError, Outbox | DeliveryHandlers | Scope.Scope> = Effect.gen(
  function* () {
    const outbox = yield* Outbox
    const { agents, byTopic } = yield* DeliveryHandlers
    const config = yield* RelayConfig
    if (byTopic.size === 0) return
    const { attempts_max, lease_margin_ms, timeout_ms } = config
    yield* beginCounters(byTopic.keys())
    const routes = { topics: [...byTopic.keys()], agents }
    const loop = yield* makeClaimLoop<OutboxMessage>(
      {
        name: "outbox",
        lease_ms: timeout_ms + lease_margin_ms,
        claim: (request) => {
          const { after, lease_ms, limit, owner } = request
          return outbox.claim({ ...routes, owner, limit, lease_ms, after, ...roomsOf(request) })
        },
        release: outbox.release,
        nextDueAt: outbox.nextDueAt(routes),
        added: outbox.onWritten
      },
      yield* makeClaimNames("relay"),
      config,
      agents
    )
    const { deadLetter, settle } = makeDeliveryOutcomes(outbox, config, loop)

    yield* loop.start((message, owner) =>
      Effect.uninterruptibleMask((restore) => {
        if (message.attempts > attempts_max + crashes_max) {
          const error = `${message.attempts - 1} tries began, and the last ones never ended`
          return deadLetter(message, owner, error)
        }
        const handler = byTopic.get(message.topic) ?? unrouted
        return Effect.flatMap(Effect.exit(restore(attempt(message, handler, timeout_ms))), (exit) =>
          settle(message, owner, exit)
        )
      })
    )
  }
)

export const layer: Layer.Layer<never, StoreError, Outbox | DeliveryHandlers> =
  Layer.effectDiscard(make)
