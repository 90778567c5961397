/**
 * A conversation's feed as server-sent events. The connection pulls the stream: a client that reads slowly delays its
 * own feed and no other.
 */
import { Buffer } from "node:buffer"
import { Channel, Stream } from "effect"
import type { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { encoder } from "effect/encoding/Sse"
import { openStream } from "../../../services/AgentRuntime.ts"
import type { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { Cursor, FeedItem } from "../../../src/run/FeedItem.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { customerEvent, isForCustomers } from "../../../src/conversation/CustomerView.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import { customerQueuedBehind } from "../../../src/run/QueuedBehind.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import { shownEvent } from "../../../src/run/RunItem.ts"
import { problemOf } from "../boundary/Problems.ts"
import { closesAfter } from "./ClosingServers.ts"
import { textPull } from "./TextPull.ts"
import type { EventText } from "../boundary/AddedPages.ts"
import type { Account } from "./UnreadBytes.ts"
import { counting, small_units } from "./UnreadBytes.ts"

/** The problem that a customer sees in place of a fault in the journal, whose details are for operators. */
const unavailable = makeProblem(
  409,
  "conversation-unavailable",
  "The conversation cannot be shown",
  "Something is wrong with it on our side. Nothing that was said is lost."
)

/** How long a client waits before it reconnects, in ms. */
const retry_ms = 1_000

/** A comment. Comments keep the connection alive and mark positions for programs that read the bytes; event clients skip them. */
const comment = (text: string): string => `: ${text}\n\n`

/**
 * An event with its name, its data, and the id that `Last-Event-ID` resumes from. A client cannot resume from an event without an
 * id.
 */
const eventText = (event: string, data: object, id?: string): string =>
  encoder.write({ _tag: "Event", id, event, data: JSON.stringify(data) })

const place = (text: string) => {
  const match = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(text)
  return match === null ? undefined : { ordinal: Number(match[1]), seq: Number(match[2]) }
}

/**
 * The cursor after the event `{ordinal}.{seq}`, and after `~{ordinal}.{seq}` of the runs beside its run; `0` and an absent id mean
 * the start. Undefined if the id is malformed.
 */
export const parseCursor = (id: string | undefined): Cursor | undefined => {
  if (id === undefined || id === "" || id === "0") return { ordinal: 0, seq: -1 }
  const [own, beside, ...more] = id.split("~", 3).map(place)
  if (own === undefined || more.length > 0) return undefined
  if (!id.includes("~")) return own
  return beside && { ...own, beside }
}

const cursorText = ({ beside, ordinal, seq }: Cursor): string =>
  beside === undefined ? `${ordinal}.${seq}` : `${ordinal}.${seq}~${beside.ordinal}.${beside.seq}`

/** The id of an event, behind which the conversation is resumed. */
export const cursorOf = ({ cursor, entry, ordinal }: Extract<FeedItem, { _tag: "Event" }>) =>
  cursorText(cursor ?? { ordinal, seq: entry.seq })

const names = new Map<RunEvent["_tag"], string>()

/**
 * The name of an event, such as `run_accepted` for `RunAccepted`. Names are cached, because every event of every stream needs
 * one.
 */
const eventName = (tag: RunEvent["_tag"]): string => {
  let name = names.get(tag)
  if (name === undefined) {
    name = tag.replace(
      /[A-Z]/g,
      (letter, at: number) => (at === 0 ? "" : "_") + letter.toLowerCase()
    )
    names.set(tag, name)
  }
  return name
}

const encoder_utf8 = new TextEncoder()

/** Encodes into memory of its own, which the reader may transfer. */
export const inUtf8 = (text: string): Uint8Array => encoder_utf8.encode(text)

/**
 * Encodes into memory that other texts share, for a reader that only reads it. It takes a fifth of the time (bench row `http`).
 */
export const inPooledUtf8 = (text: string): Uint8Array => Buffer.from(text)

/** The id that resumes after a run whose journal does not fold, if the run is over; undefined if it is not. */
const behind = ({ ordinal, seq }: RunQuarantined): string | undefined =>
  ordinal === undefined ? undefined : `${ordinal}.${seq}`

export interface FeedOptions {
  readonly customer: boolean
  readonly heartbeat_ms: number
  /** Run at each heartbeat: the stream ends if the result is false. */
  readonly goesOn: Effect.Effect<boolean>
  /** The stream ends when this effect does. */
  readonly until: Effect.Effect<void>
  /** The encoder of the texts. Absent = `inUtf8`. */
  readonly encode?: ((text: string) => Uint8Array) | undefined
  /** The account of text that the reader has not taken yet. Absent = the text is not counted. */
  readonly account?: Account
}

/** The text of an item; empty if the reader may not see the item. */
const frameOf = (item: FeedItem, customer: boolean): string => {
  if (item._tag === "Output") {
    if (customer && !isForCustomers(item.frame, "output")) return ""
    const { call, frame, run, step, text } = item
    const data = { turn: `${frame}/${step}`, kind: "output", call, text, run_id: run }
    return eventText("delta", data)
  }
  if (item._tag === "Delta") {
    if (customer && !isForCustomers(item.frame, item.kind)) return ""
    const data = {
      turn: `${item.frame}/${item.step}`,
      offset: item.offset,
      kind: item.kind,
      text: item.text,
      run_id: item.run
    }
    return eventText("delta", data)
  }
  if (item._tag === "CaughtUp") return comment("caught up")
  if (item._tag === "Queued") {
    const behind = customer ? customerQueuedBehind(item.behind) : item.behind
    return eventText("queued", { run_id: item.run, behind })
  }
  const { at, seq } = item.entry
  const event = customer ? customerEvent(item.entry.event) : shownEvent(item.entry.event)
  if (event === undefined) return ""
  const data = { run_id: item.run, seq, at, event }
  return eventText(eventName(event._tag), data, cursorOf(item))
}

/**
 * The texts of items that are available at the same time. Short texts are joined up to `small_units`, so that what a step appends
 * is one write (bench row `http`); a long text stands alone. Each text is made when it is pulled, so that only one text of a
 * large page is in memory.
 */
function* textsOf(items: ReadonlyArray<FeedItem>, customer: boolean): Generator<string> {
  let joined = ""
  for (const item of items) {
    const frame = frameOf(item, customer)
    if (joined !== "" && joined.length + frame.length > small_units) {
      yield joined
      joined = ""
    }
    joined += frame
  }
  if (joined !== "") yield joined
}

/** The comment that a stream begins with. */
const first = `retry: ${retry_ms}\n${comment("here")}`
/** Keeps a connection alive, and is skipped by event clients. */
export const beat = comment("alive")

function* partsOf(texts: ReadonlyArray<EventText>): Generator<string | Uint8Array> {
  for (const text of texts) {
    if (typeof text === "string") yield text
    else yield* text
  }
}

/** The same of texts that somebody else has made of events. */
export const bytesOfTexts = (
  texts: Stream.Stream<EventText>,
  { account, encode, goesOn, heartbeat_ms, until }: Omit<FeedOptions, "customer">
): Stream.Stream<Uint8Array> =>
  Stream.fromChannel(
    Channel.fromTransform((_, scope) => {
      const { hold, taken } = counting(account)
      const bytesOf = (text: string | Uint8Array): Uint8Array => {
        if (typeof text === "string") return (encode ?? inUtf8)(text)
        return encode === undefined ? text.slice() : text
      }
      return textPull<EventText, never, Uint8Array, string | Uint8Array>(
        {
          feed: openStream(texts),
          first,
          textsOf: (items) => partsOf(items),
          textOfError: (error) => error,
          beat,
          beat_ms: heartbeat_ms,
          goesOn,
          until,
          given: (text) => {
            hold(text)
            return bytesOf(text)
          },
          taken
        },
        scope
      )
    })
  )

/** The response to a request for an event stream, whose connection ends with it. */
export const responseOf = (
  stream: Stream.Stream<Uint8Array>,
  { source }: HttpServerRequest.HttpServerRequest,
  contentType = "text/event-stream"
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(stream, {
    contentType,
    // A proxy that buffers would delay every event.
    headers: { "cache-control": "no-store", "x-accel-buffering": "no", ...closesAfter(source) }
  })

/**
 * The bytes of the stream. It begins with a comment at once, because the response's headers are sent with the first bytes;
 * another comment follows every `heartbeat_ms`. If a store fails, the stream ends with a problem as its last event, and the
 * client resumes from its cursor.
 */
export const bytes = (
  feed: ReturnType<AgentRuntime["Service"]["openFeed"]>,
  { account, customer, encode = inUtf8, goesOn, heartbeat_ms, until }: FeedOptions
): Stream.Stream<Uint8Array> =>
  Stream.fromChannel(
    Channel.fromTransform((_, scope) => {
      const { hold, taken } = counting(account)
      return textPull(
        {
          feed,
          first,
          textsOf: (items) => textsOf(items, customer),
          textOfError: (error) => {
            if (error._tag !== "RunQuarantined") return eventText("error", problemOf(error))
            const problem = customer ? unavailable : problemOf(error)
            return eventText("error", problem, behind(error))
          },
          beat,
          beat_ms: heartbeat_ms,
          goesOn,
          until,
          given: (text) => {
            hold(text)
            return encode(text)
          },
          taken
        },
        scope
      )
    })
  )
