/** Runs at random, as they are read from the journal and as they are watched. */
import type { FeedItem } from "../../src/run/FeedItem.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { ApprovalId } from "../../src/value/Ids.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import { interleave, run, seeded } from "../run/Interleaving.ts"

export const conversation = ConversationId.make("c-1")
export const eventItem = (event: RunEvent, seq: number): FeedItem => ({
  _tag: "Event",
  run,
  ordinal: 1,
  entry: { seq, at: seq, event }
})
export const caughtUp: FeedItem = { _tag: "CaughtUp", ordinal: 1, seq: -1 }

/** The pieces in which a turn is watched: some attempts break off, and some are told again from their start. */
const piecesOf = (
  event: Extract<RunEvent, { _tag: "ModelTurned" }>,
  random: () => number
): ReadonlyArray<FeedItem> => {
  const items: Array<FeedItem> = []
  const { frame, step } = event
  const say = (kind: "text" | "reasoning", whole: string, upTo: number) => {
    let offset = 0
    while (offset < upTo) {
      const text = whole.slice(offset, Math.min(upTo, offset + 1 + Math.floor(random() * 8)))
      items.push({ _tag: "Delta", run, ordinal: 1, frame, step, kind, text, offset })
      offset += text.length
    }
  }
  const reasoning = (event.reasoning ?? []).map(({ text }) => text).join("")
  const attempt = (thought: string, text: string, part: number) => {
    say("reasoning", thought, thought.length)
    say("text", text, Math.floor(text.length * part))
  }
  if (random() < 0.3)
    attempt("Another thought", random() < 0.5 ? "Something else" : event.text, random())
  if (random() < 0.3) attempt(reasoning, event.text, random())
  if (random() < 0.8) attempt(reasoning, event.text, random() < 0.5 ? 1 : random())
  return items
}

/** How long the journal was when this many items had been taken. */
export const eventsIn = (items: ReadonlyArray<FeedItem>, taken: number): number =>
  items.slice(0, taken).filter(({ _tag }) => _tag === "Event").length

/** A run of this seed: its events, the feed of somebody who watches it, and which questions that one may answer. */
export const watched = (seed: number, isCustomer: boolean) => {
  const random = seeded(seed + 1)
  const events = interleave(seed, () => undefined).events.map((event) =>
    // Customers are shown, and answer, the questions that are for them.
    isCustomer && event._tag === "ApprovalRequested" && random() < 0.7
      ? { ...event, approvers: ["customer" as const] }
      : event
  )
  const mayAnswer = (approval: ApprovalId) =>
    !isCustomer ||
    events.some(
      (event) =>
        event._tag === "ApprovalRequested" &&
        event.approval === approval &&
        event.approvers.includes("customer")
    )
  const live = events.flatMap((event, seq) =>
    event._tag === "ModelTurned"
      ? [...piecesOf(event, random), eventItem(event, seq)]
      : [eventItem(event, seq)]
  )
  return { events, live, mayAnswer, random }
}
