/** A conversation's event stream, which goes on from its cursor wherever its connection was lost. */
import type { QueuedBehind } from "../../../src/run/QueuedBehind.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { Connection } from "./Connection.ts"
import { Attempts, Exchange, segment } from "./Connection.ts"
import { isObject, problemError, TroupeError, unreadable, valueOf } from "./TroupeError.ts"

/** What happened in a run, as JSON. A customer is shown fewer of these, with fewer members. */
export type RunEventJson = (typeof RunEvent)["Encoded"]

/** One thing that happened in a conversation. */
export type WatchItem =
  | {
      /** Something was journaled. */
      readonly type: "event"
      /** The id of the run. */
      readonly run: string
      /** The event's place in the journal of the run, from 0. */
      readonly seq: number
      /** When it was journaled, in ms since 1970. */
      readonly at: number
      /** What happened. */
      readonly event: RunEventJson
      /** `watch` goes on behind it with this. */
      readonly cursor: string
    }
  | {
      /** A piece of a turn in progress, for those who watch at that moment. */
      readonly type: "delta"
      /** The id of the run. */
      readonly run: string
      /** The frame whose turn it is; `0` = that of the run's agent. */
      readonly frame: string
      /** The turn, from 1. */
      readonly step: number
      /** What the model says, or what it thinks. */
      readonly kind: "text" | "reasoning"
      /** The piece. */
      readonly text: string
      /** 0 = the turn begins anew, as it does where the connection was lost: drop the pieces that there are of it. */
      readonly offset: number
    }
  | {
      /** What a call at work shows before it ends. */
      readonly type: "output"
      /** The id of the run. */
      readonly run: string
      /** The frame of the call. */
      readonly frame: string
      /** The turn that proposed the call. */
      readonly step: number
      /** The call. */
      readonly call: string
      /** JSON text, cut at 16,384 bytes. It replaces what was shown of the call before. */
      readonly text: string
    }
  | {
      /** A message waits for the answers of people to an earlier run. */
      readonly type: "queued"
      /** The run of the message. */
      readonly run: string
      /** The earlier run, and its open questions. It comes again when these are others. */
      readonly behind: (typeof QueuedBehind)["Encoded"]
    }
  | {
      /** Once: what was journaled before has come, and what follows happens from now on. */
      readonly type: "current"
    }

/** One event of a stream; `comment`: a line that is none. */
interface Frame {
  readonly comment?: string
  readonly name: string
  readonly id: string | undefined
  readonly data: string
}

/** In UTF-16 units. An event holds at most one turn of a model or one result of a tool. */
const event_units_max = 67_108_864

/**
 * The events of a text that comes in pieces (server-sent events, as the service writes them: their lines end with a line feed, and
 * perhaps a carriage return before it). What was cut off within an event is none.
 */
export async function* framesOf(
  pieces: AsyncIterable<Uint8Array>,
  units_max = event_units_max
): AsyncGenerator<Frame> {
  const decoder = new TextDecoder()
  /** The line that has not ended. */
  let begun: Array<string> = []
  let units = 0
  let frame = { name: "", id: undefined as string | undefined, data: [] as Array<string> }
  for await (const piece of pieces) {
    const [first = "", ...more] = decoder.decode(piece, { stream: true }).split("\n")
    begun.push(first)
    units += first.length
    for (const next of more) {
      const line = begun.join("").replace(/\r$/, "")
      begun = [next]
      units += next.length
      const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
      if (line === "") {
        const { data, id, name } = frame
        if (data.length > 0) yield { name, id, data: data.join("\n") }
        frame = { name: "", id: undefined, data: [] }
        units = next.length
      } else if (field === "") yield { comment: value, name: "", id: undefined, data: "" }
      else if (field === "event") frame.name = value
      else if (field === "id") frame.id = value
      else if (field === "data") frame.data.push(value)
    }
    if (units > units_max) {
      throw new TroupeError("AnswerTooLarge", `An event has more than ${units_max} characters.`)
    }
  }
}

/** The item of an event; undefined for one that a later service may have. */
const itemOf = ({ data: text, id, name }: Frame): WatchItem | undefined => {
  const data = valueOf(text)
  if (!isObject(data)) throw unreadable("an event of its stream is no JSON object")
  const { run_id: run, turn, ...rest } = data
  if (name === "queued") return { type: "queued", run, ...rest } as WatchItem
  if (name === "delta") {
    const [frame, step] = String(turn).split("/")
    const type = rest["kind"] === "output" ? "output" : "delta"
    return { type, run, frame, step: Number(step), ...rest } as WatchItem
  }
  const { event } = rest
  if (id === undefined || !isObject(event)) return undefined
  return { type: "event", run, ...rest, cursor: id } as WatchItem
}

const over = () =>
  new TroupeError("ConnectionLost", "The stream ended before what it is of.", { retryable: true })

/** Everything that happens in a conversation behind a cursor, until the signal ends it. */
export async function* watchConversation(
  connection: Connection,
  conversation: string,
  after: string,
  signal: AbortSignal | undefined
): AsyncGenerator<WatchItem> {
  const path = `/v1/conversations/${segment("conversation", conversation)}/events`
  const attempts = new Attempts()
  let cursor = after
  let isCurrent = false
  for (;;) {
    const ask = {
      method: "GET",
      path,
      query: { after: cursor },
      headers: { accept: "text/event-stream" }
    }
    const prepared = await connection.prepare(ask)
    const exchange = new Exchange(signal)
    attempts.sent++
    try {
      const response = await connection.open(prepared, exchange)
      if (!/^text\/event-stream/i.test(response.headers.get("content-type") ?? "")) {
        throw unreadable("its answer is no stream of events")
      }
      for await (const frame of framesOf(connection.pieces(response, exchange))) {
        // Somebody who takes their time over an item is not a service that is silent.
        exchange.rest()
        if (frame.comment === "caught up") {
          attempts.wentOn()
          if (!isCurrent) yield { type: "current" }
          isCurrent = true
        }
        if (frame.comment !== undefined) continue
        if (frame.name === "error") {
          const behind = frame.id === undefined ? undefined : { cursor: frame.id }
          throw problemError(valueOf(frame.data), behind) ?? unreadable("its error is no problem")
        }
        const item = itemOf(frame)
        if (item === undefined) continue
        attempts.wentOn()
        if (item.type === "event") cursor = item.cursor
        yield item
      }
      throw over()
    } catch (error) {
      await connection.again(error, exchange, attempts)
    } finally {
      exchange.close()
    }
  }
}
