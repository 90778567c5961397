/**
 * Events in CloudEvents 1.0 (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md): those that come in, as structured
 * JSON or with their attributes in HTTP headers, and those that go to a webhook, as structured JSON. Only JSON data and only the
 * attributes that this runtime uses are accepted.
 */
import { Effect, Schema } from "effect"
import type { InvalidInput } from "../schema/InvalidInput.ts"
import { inputReader } from "../schema/InvalidInput.ts"
import { isExistingTime } from "../value/Times.ts"
import { ConversationId, RunId, plainText } from "../value/Ids.ts"
import { textUpTo } from "../value/Bounds.ts"
import { defined } from "../value/PlainObject.ts"
import type { OutboxMessage } from "./OutboxMessage.ts"

const attribute_max = 200

/** 1 to 200 characters, none of them a control character: PostgreSQL cannot store a NUL. */
const Attribute = textUpTo(attribute_max).check(plainText)

/** A time in RFC 3339. The zone is required, because without one the time would be ambiguous. */
const Time = Schema.String.check(
  Schema.isPattern(
    /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/,
    {
      description: "an RFC 3339 time with a zone, for example 2026-11-22T09:30:00Z"
    }
  ),
  Schema.makeFilter((text: string) => isExistingTime(text) || "a time that exists")
)

/** Whether the media type is JSON (`application/json`, `text/json`, `...+json`), with any parameters. */
export const isJsonType = (type: string): boolean =>
  /^(?:application\/json|text\/json|[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.-]+\+json)\s*(?:;|$)/i.test(
    type.trim()
  )

export const IncomingEvent = Schema.Struct({
  specversion: Schema.Literal("1.0"),
  /** Identifies the event together with `source`: the same pair again is the same event. */
  id: Attribute,
  source: Attribute,
  type: Attribute,
  /** When the event happened. It is required, because events are remembered only for a time, and older ones are refused. */
  time: Time,
  subject: Schema.optionalKey(Attribute),
  datacontenttype: Schema.optionalKey(
    Schema.String.check(
      Schema.isMaxLength(attribute_max),
      Schema.makeFilter((type) => isJsonType(type) || "a JSON media type")
    )
  ),
  dataschema: Schema.optionalKey(Attribute),
  data: Schema.Json
})
export interface IncomingEvent extends Schema.Schema.Type<typeof IncomingEvent> {}

/** An attribute's name (CloudEvents, section 3.1). */
const extension = /^[a-z0-9]{1,20}$/
const extensions_max = 20

const isExtension = (name: string, value: unknown): boolean =>
  extension.test(name) &&
  name !== "data" &&
  (typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value))

const known: ReadonlySet<string> = new Set(Object.keys(IncomingEvent.fields))

/** Leaves out extension attributes, which any intermediary may add. Other unknown members stay, and are then refused. */
const withoutExtensions = (event: unknown): unknown => {
  if (typeof event !== "object" || event === null || Array.isArray(event)) return event
  let extensions = 0
  return Object.fromEntries(
    Object.entries(event).filter(
      ([name, value]) =>
        known.has(name) || !isExtension(name, value) || ++extensions > extensions_max
    )
  )
}

const read = inputReader(IncomingEvent)

/** Decodes an event in structured mode, or one that a program passes. */
export const readEvent = (event: unknown): Effect.Effect<IncomingEvent, InvalidInput> =>
  Effect.suspend(() => read(withoutExtensions(event), "event"))

const percentDecoded = (value: string): string => {
  try {
    return decodeURIComponent(value)
  } catch {
    // A header that is no percent-encoding is taken as it is.
    return value
  }
}

/** The structured form of an event in binary mode: attributes in `ce-` headers (HTTP binding, section 3.1.3), the data as the body. */
export const structuredOf = (
  headers: Readonly<Record<string, string | undefined>>,
  data: unknown
): unknown => ({
  ...Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith("ce-") && value !== undefined && value.length <= 3 * attribute_max
        ? [[name.slice("ce-".length), percentDecoded(value)]]
        : []
    )
  ),
  ...defined({ datacontenttype: headers["content-type"] }),
  data
})

/** The result of receiving an event. */
export const ReceivedEvent = Schema.Struct({
  /** False = the event was received before, and this time it had no effect. */
  isNew: Schema.Boolean,
  /** Present if the event became a message to an agent: its conversation and its task. */
  conversation: Schema.optionalKey(ConversationId),
  task: Schema.optionalKey(RunId)
})
export interface ReceivedEvent extends Schema.Schema.Type<typeof ReceivedEvent> {}

/** This service does not handle events of this type. */
export class EventTypeUnknown extends Schema.TaggedError<EventTypeUnknown>()("EventTypeUnknown", {
  /** The event's type. */
  type: Schema.String,
  /** The types that are handled. */
  available: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `nothing is done about events of the type ${JSON.stringify(this.type)}`
  }
}

/** An event with this source and id was received before with different content. */
export class EventConflict extends Schema.TaggedError<EventConflict>()("EventConflict", {
  /** The event's source. */
  source: Schema.String,
  /** The event's id. */
  id: Schema.String
}) {
  override get message(): string {
    return "an event of this source and id came with another content before"
  }
}

/**
 * The event happened before the period for which events are remembered, or its time is too far in the future. So it is not known
 * whether it was received before.
 */
export class EventOutOfTime extends Schema.TaggedError<EventOutOfTime>()("EventOutOfTime", {
  /** The event's time, as it was given. */
  time: Schema.String,
  /** How long events are remembered, in ms. */
  retention_ms: Schema.Int
}) {
  override get message(): string {
    return `an event is taken until ${this.retention_ms} ms after its time, which may be an hour ahead`
  }
}

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
  /** Of an event for a webhook of a tenant: later ones have greater texts. */
  sequence: Schema.optionalKey(Schema.String),
  /** The message was a dead letter, so it may come after younger ones. */
  replayed: Schema.optionalKey(Schema.Literal(true)),
  data: Schema.Json
})
export interface CloudEvent extends Schema.Schema.Type<typeof CloudEvent> {}

export const cloudEventOf = (
  message: Pick<OutboxMessage, "id" | "key" | "created_at" | "replayed">,
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
