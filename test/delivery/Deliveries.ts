/**
 * A relay that delivers to one webhook over a real database: for processes that are killed, and for their successors.
 */
import { Effect, Layer, Redacted } from "effect"
import * as WebhookDelivery from "../../layers/channel/WebhookDelivery.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as MergedDeliveryHandlers from "../../layers/runtime/relay/MergedDeliveryHandlers.ts"
import * as OutboxRelay from "../../layers/runtime/relay/OutboxRelay.ts"
import type { RoomHandlers } from "../../services/DeliveryHandlers.ts"
import { webhook_topic } from "../../src/delivery/IncomingEvent.ts"
import { MessageId, Tenant } from "../../src/value/Ids.ts"

export const message = {
  id: MessageId.make("5f2c7d1e-93ab-4c04-8e6d-000000007777"),
  tenant: Tenant.make("acme"),
  key: "order-7777",
  topic: webhook_topic,
  payload: { type: "order.paid", data: { order: 7777 } }
}

/** `place` is a directory or a connection URL. */
export const stores = (engine: string, place: string) =>
  Layer.fresh(engine === "pglite" ? Stores.directory(place) : Stores.postgres(Redacted.make(place)))

/** `after` runs between the receiver's answer and its report to the outbox. */
export const relay = (url: string, after: Effect.Effect<void> = Effect.void) => {
  const handlers = WebhookDelivery.handlers.pipe(
    Effect.map((entries): RoomHandlers =>
      entries.map(([topic, deliver]) => [topic, (it) => Effect.andThen(deliver(it), after)])
    ),
    Effect.provideService(WebhookDelivery.WebhookConfig, { url, allow_ranges: ["127.0.0.0/8"] })
  )
  return OutboxRelay.layer.pipe(
    Layer.provide(MergedDeliveryHandlers.layer(handlers)),
    Layer.provide(
      Layer.effect(
        OutboxRelay.RelayConfig,
        // A lease of two seconds, because the successor of a killed process waits for its end.
        Effect.map(OutboxRelay.RelayConfig, (config) => ({
          ...config,
          timeout_ms: 1_500,
          lease_margin_ms: 500
        }))
      )
    )
  )
}
