/**
 * An event that came in: CloudEvents 1.0 (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md), as structured
 * JSON or with its attributes in HTTP headers. Only JSON data, and only attributes that this runtime uses.
 */
import { Effect, Schema } from "effect"
import type { InvalidInput } from "../entry/InvalidInput.ts"
import { inputReader } from "../entry/InvalidInput.ts"
import type { ConversationId, RunId } from "../Ids.ts"

const attribute_max = 200

/** 1 to 200 characters, none of them a control character: PostgreSQL cannot store a NUL. */
const Attribute = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(attribute_max),
  Schema.makeFilter(
    // oxlint-disable-next-line no-control-regex -- it is what is refused
    (text) => (text.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text)) || "printable characters"
  )
)

/** RFC 3339: with a zone, because a time without one is another moment elsewhere. */
const Time = Schema.String.check(
  Schema.isPattern(
    /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/,
    {
      description: "an RFC 3339 time with a zone, for example 2026-11-22T09:30:00Z"
    }
  ),
  Schema.makeFilter((text: string) => !Number.isNaN(Date.parse(text)) || "a time that exists")
)

/** Is the media type JSON (`application/json`, `text/json`, `...+json`), whatever its parameters are? */
export const isJsonType = (type: string): boolean =>
  /^(?:application\/json|text\/json|[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.-]+\+json)\s*(?:;|$)/i.test(
    type.trim()
  )

export const IncomingEvent = Schema.Struct({
  specversion: Schema.Literal("1.0"),
  /** Together with `source` it names the event: the same pair again is the same event. */
  id: Attribute,
  source: Attribute,
  type: Attribute,
  /** When it happened. Needed: events are remembered for a time, and older ones are refused. */
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

/** Leaves out extension attributes, which any intermediary may add; what is no attribute stays, and is refused. */
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

/** An event in structured mode, or as a program gives it. */
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
  ...(headers["content-type"] === undefined
    ? undefined
    : { datacontenttype: headers["content-type"] }),
  data
})

/** What became of an event. */
export interface ReceivedEvent {
  /** False: it was received before, and this time nothing was done. */
  readonly isNew: boolean
  /** Of an event that an agent is told of: where, and its task. */
  readonly conversation?: ConversationId
  readonly task?: RunId
}

/** No agent is told of events of this type. */
export class EventTypeUnknown extends Schema.TaggedError<EventTypeUnknown>()("EventTypeUnknown", {
  type: Schema.String,
  available: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `nothing is done about events of the type ${JSON.stringify(this.type)}`
  }
}

/** An event of this source and id came before, and said something else. */
export class EventConflict extends Schema.TaggedError<EventConflict>()("EventConflict", {
  source: Schema.String,
  id: Schema.String
}) {
  override get message(): string {
    return "an event of this source and id came with another content before"
  }
}

/** It happened before the time for which events are remembered, or after now: whether it came before is not known. */
export class EventOutOfTime extends Schema.TaggedError<EventOutOfTime>()("EventOutOfTime", {
  time: Schema.String,
  retention_ms: Schema.Int
}) {
  override get message(): string {
    return `an event is taken from ${this.retention_ms} ms after its time to an hour before it`
  }
}
