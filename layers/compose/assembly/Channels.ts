/** Adds the intake of events, the notification of people and the webhooks of tenants to a runtime. */
import { Effect, Layer, Result } from "effect"
import type { SecureRandom } from "effect/crypto"
import type { AgentMemories } from "../../../services/AgentMemory.ts"
import type { RoomHandlers } from "../../../services/DeliveryHandlers.ts"
import type { EventInbox } from "../../../services/EventInbox.ts"
import type { EventIntake } from "../../../services/EventIntake.ts"
import type { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { Notices } from "../../../services/Notices.ts"
import type { Webhooks } from "../../../services/Webhooks.ts"
import { WebhookReach } from "../../../services/Webhooks.ts"
import { parseAddressRanges } from "../../../src/network/Address.ts"
import { withDefaults } from "../../../src/value/PlainObject.ts"
import * as LocalEventIntake from "../../channel/LocalEventIntake.ts"
import * as NotificationService from "../../channel/NotificationService.ts"
import * as WebhookSubscriptions from "../../channel/WebhookSubscriptions.ts"
import { RelayConfig } from "../../runtime/relay/OutboxRelay.ts"
import * as PooledRandom from "./PooledRandom.ts"

type Adapter = Effect.Effect<NotificationService.ChannelAdapter, unknown, unknown>

/** `A` is the type of the adapters, with the errors and requirements of building each of them. */
export interface Options<A extends Adapter = Adapter> {
  /** Settings of the event intake. Absent = events are not accepted. */
  readonly events?: LocalEventIntake.EventIntakeConfig["Service"] | undefined
  /** Channels in addition to the in-app copy. */
  readonly adapters?: ReadonlyArray<A>
}

type Deliveries<E, R> = ReadonlyArray<
  Effect.Effect<
    RoomHandlers,
    E | InvalidInput,
    R | EventIntake | Exclude<NotificationService.Foundation, SecureRandom.SecureRandom> | Webhooks
  >
>

/** The deliveries for a runtime, and the Layer that has to be provided to it. */
export interface Channels<E, R> {
  readonly deliveries: Deliveries<E, R>
  readonly layer: Layer.Layer<EventIntake, never, AgentMemories | EventInbox | Notices | Webhooks>
}

/** The option `webhooks`, with times as numbers. */
export interface WebhookBounds {
  readonly allow_ranges?: ReadonlyArray<string>
  readonly http?: boolean
  readonly retention_ms?: number
}

/** These bounds of webhooks, with defaults for the rest. Their ranges were checked. */
export const webhookBounds = ({
  allow_ranges = [],
  http = false,
  retention_ms
}: WebhookBounds = {}): Layer.Layer<never> =>
  Layer.merge(
    Layer.succeed(WebhookReach, {
      allow: Result.getOrThrow(parseAddressRanges(allow_ranges)),
      http
    }),
    Layer.effect(
      WebhookSubscriptions.SubscriptionConfig,
      Effect.map(WebhookSubscriptions.SubscriptionConfig, (config) =>
        withDefaults(config, { retention_ms })
      )
    )
  )

/** What a delivery is given up after, the relay would make a dead letter of before. */
const webhooks = Effect.gen(function* () {
  const { attempts_max } = yield* RelayConfig
  const config = yield* WebhookSubscriptions.SubscriptionConfig
  return yield* Effect.provideService(
    WebhookSubscriptions.handlers,
    WebhookSubscriptions.SubscriptionConfig,
    { ...config, attempts_max: Math.min(config.attempts_max, attempts_max) }
  )
})

export const make = <A extends Adapter = never>(
  options: Options<A> = {}
): Channels<Effect.Error<A>, Effect.Services<A>> => {
  const { adapters = [], events } = options
  const intake =
    events === undefined
      ? LocalEventIntake.none
      : LocalEventIntake.layer.pipe(
          Layer.provide(Layer.succeed(LocalEventIntake.EventIntakeConfig, events))
        )
  const notifications = NotificationService.handlers(
    adapters as ReadonlyArray<
      Effect.Effect<NotificationService.ChannelAdapter, Effect.Error<A>, Effect.Services<A>>
    >
  ).pipe(Effect.provide(PooledRandom.layer))
  return {
    deliveries:
      events?.topics === undefined
        ? [notifications, webhooks]
        : [notifications, webhooks, LocalEventIntake.handlersOf(events.topics)],
    layer: Layer.mergeAll(intake, NotificationService.sweeps, WebhookSubscriptions.sweeps).pipe(
      Layer.provide(PooledRandom.layer)
    )
  }
}
