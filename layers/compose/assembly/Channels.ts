/** Adds the intake of events and the notification of people to a runtime. */
import { Effect, Layer } from "effect"
import type { SecureRandom } from "effect/crypto"
import type { AgentMemories } from "../../../services/AgentMemory.ts"
import type { RoomHandlers } from "../../../services/DeliveryHandlers.ts"
import type { EventInbox } from "../../../services/EventInbox.ts"
import type { EventIntake } from "../../../services/EventIntake.ts"
import type { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { Notices } from "../../../services/Notices.ts"
import * as LocalEventIntake from "../../channel/LocalEventIntake.ts"
import * as NotificationService from "../../channel/NotificationService.ts"
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
    R | EventIntake | Exclude<NotificationService.Foundation, SecureRandom.SecureRandom>
  >
>

/** The deliveries for a runtime, and the Layer that has to be provided to it. */
export interface Channels<E, R> {
  readonly deliveries: Deliveries<E, R>
  readonly layer: Layer.Layer<EventIntake, never, AgentMemories | EventInbox | Notices>
}

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
        ? [notifications]
        : [notifications, LocalEventIntake.handlersOf(events.topics)],
    layer: Layer.merge(intake, NotificationService.sweeps).pipe(Layer.provide(PooledRandom.layer))
  }
}
