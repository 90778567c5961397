/**
 * A conversation's feed as server-sent events. The stream is pulled by the connection: a client that reads slowly holds
 * back its own feed and nobody else's.
 */
import { Effect, identity, Schedule, Stream } from "effect"
import type { AgentRuntime, Cursor, FeedItem } from "../../services/AgentRuntime.ts"
import { makeProblem } from "../../src/api/Problem.ts"
import { customerEvent, isForCustomers } from "../../src/conversation/CustomerView.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { problemOf } from "./Problems.ts"
import type { Account } from "./Unread.ts"
import { small_units } from "./Unread.ts"

/** What is wrong with a journal is for whoever repairs it. */
const unavailable = makeProblem(
  409,
  "conversation-unavailable",
  "The conversation cannot be shown",
  "Something is wrong with it on our side. Nothing that was said is lost."
)

/** How long a client waits before it comes back, in ms. */
const retry_ms = 1_000

/** Behind `{ordinal}.{seq}`; `0` and nothing are the start. Undefined if it is neither. */
export const parseCursor = (id: string | undefined): Cursor | undefined => {
  if (id === undefined || id === "" || id === "0") return { ordinal: 0, seq: -1 }
  const match = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(id)
  return match === null ? undefined : { ordinal: Number(match[1]), seq: Number(match[2]) }
}

/** `RunAccepted` is `run_accepted`. */
const eventName = (tag: RunEvent["_tag"]): string =>
  tag.replace(/[A-Z]/g, (letter, at: number) => (at === 0 ? "" : "_") + letter.toLowerCase())

const names = new Map<RunEvent["_tag"], string>()
const nameOf = (tag: RunEvent["_tag"]): string => {
  let name = names.get(tag)
  if (name === undefined) names.set(tag, (name = eventName(tag)))
  return name
}

export interface FeedOptions {
  readonly customer: boolean
  readonly heartbeat_ms: number
  /** The stream ends when this does. */
  readonly until: Effect.Effect<void>
  /** Where it says what its reader has not taken yet. Absent = nowhere. */
  readonly account?: Account
}

const frameOf = (item: FeedItem, customer: boolean): string => {
  if (item._tag === "Output") {
    if (customer && !isForCustomers(item.frame, "output")) return ""
    const { call, frame, run, step, text } = item
    const data = { turn: `${frame}/${step}`, kind: "output", call, text, run_id: run }
    return `event: delta\ndata: ${JSON.stringify(data)}\n\n`
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
    return `event: delta\ndata: ${JSON.stringify(data)}\n\n`
  }
  // For a program that reads the stream by hand: a client of events does not see it.
  if (item._tag === "CaughtUp") return ": caught up\n\n"
  const { at, seq } = item.entry
  const event = customer ? customerEvent(item.entry.event) : item.entry.event
  if (event === undefined) return ""
  const data = { run_id: item.run, seq, at, event }
  return `id: ${item.ordinal}.${seq}\nevent: ${nameOf(event._tag)}\ndata: ${JSON.stringify(data)}\n\n`
}

/** What is pulled next is pulled when the frame before it was taken. */
const counted =
  (account: Account) =>
  (frames: Stream.Stream<string>): Stream.Stream<string> =>
    Stream.flatMap(frames, (frame) =>
      frame.length <= small_units
        ? Stream.succeed(frame)
        : Stream.concat(
            Stream.sync(() => {
              account.hold(frame.length)
              return frame
            }),
            Stream.fromEffectDrain(Effect.sync(() => account.hold(0)))
          )
    )

/**
 * Bytes of the stream. The first ones are sent at once, because headers are not sent before them; then a sign of life
 * every `heartbeat_ms`. Ends, with a problem as its last event, when a store fails: the client comes back to its place.
 */
export const bytes = (
  feed: ReturnType<AgentRuntime["Service"]["watch"]>,
  options: FeedOptions
): Stream.Stream<Uint8Array> => {
  const events = feed.pipe(
    // A page of the journal may be large: one of its events at a time is text and bytes too. More than one would wait
    // for others to come.
    Stream.rechunk(1),
    Stream.map((item) => frameOf(item, options.customer)),
    Stream.filter((frame) => frame !== ""),
    Stream.catch((error) => {
      const problem =
        options.customer && error._tag === "RunQuarantined" ? unavailable : problemOf(error)
      return Stream.succeed(`event: error\ndata: ${JSON.stringify(problem)}\n\n`)
    })
  )
  const beats = Stream.fromSchedule(Schedule.spaced(options.heartbeat_ms)).pipe(
    Stream.map(() => ": alive\n\n")
  )
  return Stream.succeed(`retry: ${retry_ms}\n: here\n\n`).pipe(
    Stream.concat(Stream.merge(events, beats, { haltStrategy: "left" })),
    Stream.interruptWhen(options.until),
    options.account === undefined ? identity : counted(options.account),
    Stream.encodeText
  )
}
