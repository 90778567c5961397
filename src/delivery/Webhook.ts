/**
 * An event for a webhook, and the envelope that it travels in: CloudEvents 1.0, structured JSON
 * (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).
 */
import { Schema } from "effect"
import type { OutboxMessage } from "./OutboxMessage.ts"
import { textUpTo } from "../value/Bounds.ts"

/** The topic whose messages go to the configured webhook. */
export const webhook_topic = "webhook.deliver"

/** The payload of such a message. The configuration decides the receiver, never the payload. */
export const WebhookEvent = Schema.Struct({
  /** For example `order.created`. */
  type: textUpTo(200),
  /** What the event is about, for example an order's number. */
  subject: Schema.optionalKey(textUpTo(200)),
  data: Schema.Json
})
export interface WebhookEvent extends Schema.Schema.Type<typeof WebhookEvent> {}

export const CloudEvent = Schema.Struct({
  specversion: Schema.Literal("1.0"),
  /** The id of the message, the same at every delivery, so that a receiver can ignore duplicates. */
  id: Schema.String,
  source: Schema.String,
  type: Schema.String,
  subject: Schema.optionalKey(Schema.String),
  /** When the message was written, RFC 3339. */
  time: Schema.String,
  datacontenttype: Schema.Literal("application/json"),
  /** The message's key: events of one partition come in order, except replayed ones. */
  partitionkey: Schema.String,
  /** The message was a dead letter, so it may come after younger ones. */
  replayed: Schema.optionalKey(Schema.Literal(true)),
  data: Schema.Json
})
export interface CloudEvent extends Schema.Schema.Type<typeof CloudEvent> {}

export const cloudEventOf = (
  message: OutboxMessage,
  event: WebhookEvent,
  source: string
): CloudEvent => ({
  specversion: "1.0",
  id: message.id,
  source,
  type: event.type,
  ...(event.subject === undefined ? undefined : { subject: event.subject }),
  time: new Date(message.created_at).toISOString(),
  datacontenttype: "application/json",
  partitionkey: message.key,
  ...(message.replayed ? { replayed: true as const } : undefined),
  data: event.data
})
