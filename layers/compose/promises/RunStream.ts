/**
 * One message and its run as a stream that ends with the run: the text as the model writes it, the events, and the answer.
 */
import { Stream } from "effect"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { FeedItem } from "../../../services/AgentRuntime.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import type { Ended, EndedWith, PartialAnswer } from "./Answer.ts"

/** A part of `stream`; `step` counts the turns of the run's agent from 1. */
export type RunPart =
  /** The message is durable. This is the first part. */
  | { readonly type: "begun"; readonly run: string; readonly conversation: string }
  /** The next piece of what the agent says in this turn. All pieces of a turn together are its text. */
  | { readonly type: "text"; readonly step: number; readonly text: string }
  /** The turn starts over, because its request failed: its pieces so far are void. */
  | { readonly type: "restart"; readonly step: number }
  /** Something was journaled, such as a question to an approver or the outcome of a call. */
  | { readonly type: "event"; readonly seq: number; readonly event: RunEvent }
  /** The run has ended. This is the last part. */
  | { readonly type: "end"; readonly answer: Ended }

/** The parts of `stream` for a message with an answer schema. */
export type RunPartWith<A> =
  | Exclude<RunPart, { readonly type: "end" }>
  /** The part of the answer that was written so far. Sent whenever there is more of it than before. */
  | { readonly type: "value"; readonly step: number; readonly value: PartialAnswer<A> }
  | { readonly type: "end"; readonly answer: EndedWith<A> }

/** Tracks how much text of the turn in progress was delivered. */
class TurnText {
  #step = 0
  #sent = ""
  /** The journal has the text of the turns up to this one; pieces of them that come later are outdated. */
  #settled = 0

  delta(step: number, text: string, offset: number): ReadonlyArray<RunPart> {
    if (step <= this.#settled) return []
    const parts: Array<RunPart> = []
    if (step !== this.#step) this.#begin(step)
    else if (offset === 0 && this.#sent !== "") {
      parts.push({ type: "restart", step })
      this.#begin(step)
    }
    // The watch began within the turn, or pieces were left out: the text will come from the journal.
    if (offset !== this.#sent.length || text === "") return parts
    this.#sent += text
    return [...parts, { type: "text", step, text }]
  }

  /** Takes the turn as it was journaled, and returns the part of it that was not delivered yet. */
  turned(step: number, text: string): ReadonlyArray<RunPart> {
    const given = step === this.#step ? this.#sent : ""
    this.#settled = Math.max(this.#settled, step)
    if (text.startsWith(given)) {
      return text.length === given.length
        ? []
        : [{ type: "text", step, text: text.slice(given.length) }]
    }
    const anew: ReadonlyArray<RunPart> = text === "" ? [] : [{ type: "text", step, text }]
    return [{ type: "restart", step }, ...anew]
  }

  #begin(step: number): void {
    this.#step = step
    this.#sent = ""
  }
}

const partsOf = (turn: TurnText, item: FeedItem): ReadonlyArray<RunPart> => {
  if (item._tag === "Delta") {
    const isAnswer = item.frame === rootFrame && item.kind === "text"
    return isAnswer ? turn.delta(item.step, item.text, item.offset) : []
  }
  if (item._tag !== "Event") return []
  const { event, seq } = item.entry
  const text =
    event._tag === "ModelTurned" && event.frame === rootFrame
      ? turn.turned(event.step, event.text)
      : []
  return [...text, { type: "event", seq, event }]
}

/** The feed of one run, which ends with the run, as the parts between the first and the last. */
export const runParts = <E, R>(feed: Stream.Stream<FeedItem, E, R>): Stream.Stream<RunPart, E, R> =>
  Stream.suspend(() => {
    const turn = new TurnText()
    return Stream.flatMap(feed, (item) => Stream.fromIterable(partsOf(turn, item)))
  })
