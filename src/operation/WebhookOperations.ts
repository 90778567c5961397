/**
 * The operations on webhooks of a tenant: where events go, with which secrets they are signed, and what was delivered.
 */
import { Effect, Schema } from "effect"
import {
  resent_max,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryId,
  WebhookDeliveryStatus,
  WebhookId,
  WebhookSettings,
  WebhookWithSecret
} from "../delivery/Webhook.ts"
import { between } from "../value/Bounds.ts"
import { operation } from "./Operation.ts"
import { Limit, Moment } from "./Page.ts"

const day_ms = 86_400_000

const params = Schema.Struct({ id: WebhookId })
const one = { params, problems: [404], right: "manageWebhooks", args: ["id"] } as const

export const list = operation({
  id: "list",
  name: "webhooks",
  method: "GET",
  path: "/v1/webhooks",
  success: Schema.Struct({ items: Schema.Array(Webhook) }),
  right: "manageWebhooks",
  gives: "items",
  summary: "Webhooks of the tenant, newest first"
})

export const create = operation({
  id: "create",
  name: "createWebhook",
  method: "POST",
  path: "/v1/webhooks",
  payload: WebhookSettings,
  success: WebhookWithSecret,
  status: 201,
  problems: [409],
  right: "manageWebhooks",
  summary: "Tell a URL of events",
  description: "The answer is the only place that shows the secret. A tenant has at most 20."
})

export const get = operation({
  id: "get",
  name: "webhook",
  method: "GET",
  path: "/v1/webhooks/:id",
  ...one,
  success: Webhook,
  summary: "A webhook"
})

export const change = operation({
  id: "change",
  name: "changeWebhook",
  method: "PUT",
  path: "/v1/webhooks/:id",
  ...one,
  payload: Schema.Struct({
    ...WebhookSettings.fields,
    /** Whether events go there. One that is disabled forgets what failed when it is enabled. */
    enabled: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(true)))
  }),
  success: Webhook,
  summary: "Replace what a webhook is told of, or disable it",
  description:
    "What is left out is not kept. Of one that is disabled all that waits has failed; resend it later."
})

export const remove = operation({
  id: "remove",
  name: "deleteWebhook",
  method: "DELETE",
  path: "/v1/webhooks/:id",
  ...one,
  summary: "Delete a webhook and its deliveries"
})

export const rotate = operation({
  id: "rotate",
  name: "rotateWebhookSecret",
  method: "POST",
  path: "/v1/webhooks/:id/rotate",
  ...one,
  payload: Schema.Struct({
    /** How long the secrets before it sign too, in ms: 0 to 7 days. Absent = a day. */
    overlap_ms: between(0, 7 * day_ms).pipe(Schema.withDecodingDefaultKey(Effect.succeed(day_ms)))
  }),
  success: WebhookWithSecret,
  problems: [404, 409],
  summary: "Sign with a new secret",
  description:
    "Requests have a signature of each secret, the newest first, so that a receiver may have either until the overlap ends. At most 4 sign at the same time. The answer is the only place that shows the secret."
})

export const deliveries = operation({
  id: "deliveries",
  name: "webhookDeliveries",
  method: "GET",
  path: "/v1/webhooks/:id/deliveries",
  params,
  query: Schema.Struct({
    /** Absent = any. */
    status: Schema.optionalKey(WebhookDeliveryStatus),
    limit: Schema.optionalKey(Limit),
    /** The page begins after this delivery. */
    after: Schema.optionalKey(WebhookDeliveryId)
  }),
  success: Schema.Struct({
    items: Schema.Array(WebhookDelivery),
    next_after: Schema.optionalKey(WebhookDeliveryId)
  }),
  problems: [404],
  right: "inspect",
  args: ["id"],
  gives: "items",
  summary: "Deliveries to a webhook with their attempts, newest first",
  description: "They are kept for 30 days."
})

export const resend = operation({
  id: "resend",
  name: "resendWebhookDelivery",
  method: "POST",
  path: "/v1/webhooks/:id/deliveries/:delivery/resend",
  params: Schema.Struct({ id: WebhookId, delivery: WebhookDeliveryId }),
  success: WebhookDelivery,
  problems: [404, 409],
  right: "redeliver",
  args: ["id", "delivery"],
  summary: "Send a delivery again, under the same id"
})

export const resendFailed = operation({
  id: "resendFailed",
  name: "resendFailedWebhookDeliveries",
  method: "POST",
  path: "/v1/webhooks/:id/resend",
  params,
  payload: Schema.Struct({
    /** Only what was written at or after this moment, in ms since 1970. */
    since: Moment,
    /** How many at most: 1 to 500. Absent = 500. */
    limit: between(1, resent_max).pipe(Schema.withDecodingDefaultKey(Effect.succeed(resent_max)))
  }),
  success: Schema.Struct({
    /** How many are sent again. As many as the limit = there may be more. */
    resent: Schema.Int
  }),
  problems: [404, 409],
  right: "redeliver",
  args: ["id"],
  summary: "Send again what has failed, oldest first"
})
