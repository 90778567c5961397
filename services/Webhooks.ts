/**
 * Stores webhooks with their secrets, and what is delivered to them: a delivery commits with the message of the outbox that sends
 * it. Does not send, and does not decide who may manage them.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type {
  StoredWebhookSettings,
  TooManySecrets,
  TooManyWebhooks,
  Webhook,
  WebhookAttempt,
  WebhookData,
  WebhookDelivery,
  WebhookDeliveryId,
  WebhookDeliveryNotFound,
  WebhookDeliveryStatus,
  WebhookDeliveryWaits,
  WebhookId,
  WebhookIsDisabled,
  WebhookNews,
  WebhookNotFound
} from "../src/delivery/Webhook.ts"
import type { AddressRange } from "../src/network/Address.ts"
import type { MessageId, Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** The topic of what happened, which is still to be delivered to the webhooks that want it. Its payload is a `WebhookHint`. */
export const webhook_event_topic = "webhook.event"

/** The topic of a delivery to one webhook. Its payload is `{ delivery }`. */
export const webhook_send_topic = "webhook.send"

/** The key of what happened to a run, or to a webhook: its events are delivered in order. */
export const webhookKey = (subject: string): string => `webhooks/${subject}`

/** Which URLs webhooks may have: of public addresses, with https. */
export const WebhookReach = Context.Reference<{
  /** Ranges that may be reached although they are not public. */
  readonly allow: ReadonlyArray<AddressRange>
  /** Whether they may begin with http://. */
  readonly http: boolean
}>("troupe/services/WebhookReach", { defaultValue: () => ({ allow: [], http: false }) })

/** What happened, as it is written in the transaction in which it happens. */
export type WebhookHint = Pick<WebhookNews, "type"> &
  Pick<WebhookData, "run" | "approval" | "webhook" | "reason">

/** One event for the webhooks of a tenant that want it. */
export interface NewWebhookEvent {
  /** The id of its message in the outbox. */
  readonly event: MessageId
  /** Whose event it is. */
  readonly tenant: Tenant
  /** What happened, to what. */
  readonly news: WebhookNews
  /** When it was written, in ms since 1970. */
  readonly at: number
}

/** A delivery that waits, and what is needed to send it. */
export interface DueDelivery {
  /** Its place among all deliveries: of one webhook later events have greater numbers. */
  readonly position: number
  /** The id of the event. */
  readonly event: MessageId
  /** What the receiver is told. */
  readonly news: WebhookNews
  /** When the event was written, in ms since 1970. */
  readonly created_at: number
  /** Where to send it. */
  readonly url: string
  /** The secrets that sign it, newest first. */
  readonly secrets: ReadonlyArray<string>
}

/** Which deliveries, and how many: 1 to 500. */
export interface WebhookDeliveryQuery {
  /** Whose webhook. */
  readonly tenant: Tenant
  /** The webhook. */
  readonly webhook: WebhookId
  /** Absent = any status. */
  readonly status?: WebhookDeliveryStatus | undefined
  /** Continue after this one. If there is no such delivery, the page is empty. */
  readonly after?: WebhookDeliveryId | undefined
  /** 1 to 500. */
  readonly limit: number
}

/** A webhook of a tenant. */
export interface WebhookName {
  /** Whose webhook. */
  readonly tenant: Tenant
  /** The webhook. */
  readonly id: WebhookId
}

/** Webhooks, and their deliveries. */
export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** Stores an enabled webhook with its first secret. */
    add(
      webhook: WebhookName,
      settings: StoredWebhookSettings,
      secret: string
    ): Effect.Effect<Webhook, StoreError | TooManyWebhooks>
    /** All webhooks of the tenant, newest first. `now`: which secrets still sign, in ms since 1970. */
    list(tenant: Tenant, now: number): Effect.Effect<ReadonlyArray<Webhook>, StoreError>
    /** One of them. */
    get(webhook: WebhookName, now: number): Effect.Effect<Webhook, StoreError | WebhookNotFound>
    /**
     * Replaces the settings, but for who made it and when. `enabled` begins anew what failed; without it nothing is sent any more,
     * and what waits has failed.
     */
    change(
      webhook: WebhookName,
      change: {
        /** What is told where from now on. */
        readonly settings: Omit<StoredWebhookSettings, "created_at" | "created_by">
        /** Whether events go there. */
        readonly enabled: boolean
        /** Who changes it. */
        readonly by: string
        /** In ms since 1970. */
        readonly now: number
      }
    ): Effect.Effect<Webhook, StoreError | WebhookNotFound>
    /** Removes the webhook, its secrets and its deliveries: what waits is not sent. */
    remove(webhook: WebhookName): Effect.Effect<void, StoreError | WebhookNotFound>
    /** Signs with this secret from `now` on, and with those before it until `ends_at`. */
    rotate(
      webhook: WebhookName,
      secret: string,
      now: number,
      ends_at: number
    ): Effect.Effect<Webhook, StoreError | TooManySecrets | WebhookNotFound>
    /**
     * Writes a delivery for each enabled webhook that wants the event, with its message; the same event again writes none. For a
     * webhook for which as many wait as may, the delivery has failed.
     */
    deliver(event: NewWebhookEvent): Effect.Effect<void, StoreError>
    /** A delivery that waits; undefined = it does not, or is gone. */
    due(
      tenant: Tenant,
      id: WebhookDeliveryId,
      now: number
    ): Effect.Effect<DueDelivery | undefined, StoreError>
    /**
     * Writes down an attempt and the status after it. Where the webhook has failed for too long, or its receiver is gone, it is
     * disabled, what waits for it has failed, and the tenant's other webhooks are told; gives its id then. Does nothing where the
     * delivery does not wait any more.
     */
    attempted(
      tenant: Tenant,
      id: WebhookDeliveryId,
      attempt: WebhookAttempt,
      status: WebhookDeliveryStatus
    ): Effect.Effect<WebhookId | undefined, StoreError>
    /** Newest first. */
    deliveries(
      query: WebhookDeliveryQuery
    ): Effect.Effect<ReadonlyArray<WebhookDelivery>, StoreError>
    /** Sends a delivery again that was delivered or has failed, under the same id of the event. */
    resend(
      webhook: WebhookName,
      id: WebhookDeliveryId
    ): Effect.Effect<
      WebhookDelivery,
      | StoreError
      | WebhookDeliveryNotFound
      | WebhookDeliveryWaits
      | WebhookIsDisabled
      | WebhookNotFound
    >
    /** Sends those again that have failed and whose events were written at or after `since`, oldest first. Gives how many. */
    resendFailed(
      webhook: WebhookName,
      since: number,
      limit: number
    ): Effect.Effect<number, StoreError | WebhookIsDisabled | WebhookNotFound>
    /** Removes deliveries of events from before `before` (ms since 1970), of all tenants; at most `limit`. Gives how many. */
    forget(before: number, limit: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/Webhooks") {}
