/**
 * Keeps the platform's view of worlds up to date. It is an outbox handler for the events that the context of worlds publishes,
 * and asks that context nothing. A repeated or late event changes nothing.
 */
import { Effect } from "effect"
import { DeliveryFailed, DeliveryRefused } from "../../../services/DeliveryHandlers.ts"
import type { RoomHandlers } from "../../../services/DeliveryHandlers.ts"
import { WorldViews } from "../../../services/spectral/platform/WorldViews.ts"
import {
  readWorldPublished,
  world_published_topic
} from "../../../src/spectral/worlds/contracts/WorldVersionPublished.ts"

export const handlers: Effect.Effect<RoomHandlers, never, WorldViews> = Effect.map(
  WorldViews,
  (views): RoomHandlers => [
    [
      world_published_topic,
      ({ payload, tenant }) =>
        readWorldPublished(payload).pipe(
          Effect.mapError(({ message }) => new DeliveryRefused({ message })),
          Effect.flatMap((published) =>
            Effect.mapError(
              views.observe(tenant, published),
              ({ message }) => new DeliveryFailed({ message })
            )
          )
        )
    ]
  ]
)
