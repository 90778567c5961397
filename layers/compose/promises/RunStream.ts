/**
 * One message and its run as a stream that ends with the run: the text as the model writes it, the events, and the answer.
 */
import { Stream } from "effect"
import type { QueuedBehind } from "../../../src/run/QueuedBehind.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { FeedItem } from "../../../src/run/FeedItem.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import type { Ended, EndedWith, PartialAnswer } from "./Answer.ts"
import type { GivenText, StreamPosition } from "./StreamPosition.ts"
import { cursorOf, hash_empty, hashed } from "./StreamPosition.ts"

interface At {
  /** Where the stream stands behind this part: `stream({ run, after: cursor })` goes on there. */
  readonly cursor: string
}

/** A part of `stream`; `step` counts the turns of the run's agent from 1. */
export type RunPart =
  | ({
      /** The message is durable. This is the first part. */
      readonly type: "begun"
      /** The id of the run. */
      readonly run: string
      /** The id of its conversation. */
      readonly conversation: string
    } & At)
  | ({
      /** The run waits for people to answer questions of an earlier run; comes again when these are others. */
      readonly type: "queued"
      /** The earlier run, and its open questions. */
      readonly behind: QueuedBehind
    } & At)
  | ({
      /** The next piece of what the agent says in this turn. All pieces of a turn together are its text. */
      readonly type: "text"
      /** The turn, from 1. */
      readonly step: number
      /** The piece: it follows those before it. */
      readonly text: string
    } & At)
  | ({
      /** The turn starts over, because its request failed: its pieces so far are void. */
      readonly type: "restart"
      /** The turn, from 1. */
      readonly step: number
    } & At)
  | ({
      /** Something was journaled, such as a question to an approver or the outcome of a call. */
      readonly type: "event"
      /** The event's place in the journal of the run, from 0. */
      readonly seq: number
      /** What happened. */
      readonly event: RunEvent
    } & At)
  | {
      /** The run has ended. This is the last part. */
      readonly type: "end"
      /** How it ended, with its text. */
      readonly answer: Ended
    }

/** The parts of `stream` for a message with an answer schema. */
export type RunPartWith<A> =
  | Exclude<RunPart, { readonly type: "end" }>
  | {
      /** More of the answer was written than before. */
      readonly type: "value"
      /** The turn, from 1. */
      readonly step: number
      /** The part of the answer that was written so far. */
      readonly value: PartialAnswer<A>
    }
  | {
      /** The run has ended. This is the last part. */
      readonly type: "end"
      /** How it ended, with its decoded value. */
      readonly answer: EndedWith<A>
    }

/** Makes the parts of a run out of its feed, from a position on. */
class PartMaker {
  readonly #run: string
  #events: number
  /** What was given of the turn in progress, or of the last one. */
  #given: GivenText
  /** The journal has the text of the turns up to this one; pieces of them that come later are outdated. */
  #settled = 0

  constructor(run: string, { events, text }: StreamPosition) {
    this.#run = run
    this.#events = events
    this.#given = text ?? nothingOf(0)
  }

  partsOf(item: FeedItem): ReadonlyArray<RunPart> {
    if (item._tag === "Delta") {
      const isAnswer = item.frame === rootFrame && item.kind === "text"
      return isAnswer ? this.#delta(item.step, item.text, item.offset) : []
    }
    if (item._tag === "Queued") {
      return [{ type: "queued", behind: item.behind, cursor: this.#cursor }]
    }
    if (item._tag !== "Event") return []
    const { event, seq } = item.entry
    const isTurn = event._tag === "ModelTurned" && event.frame === rootFrame
    const text = isTurn ? this.#turned(event.step, event.text) : []
    this.#events = seq + 1
    return [...text, { type: "event", seq, event, cursor: this.#cursor }]
  }

  get #cursor(): string {
    const { length, step } = this.#given
    const isOpen = step > this.#settled && length > 0
    const position = { events: this.#events, ...(isOpen ? { text: this.#given } : undefined) }
    return cursorOf(this.#run, position)
  }

  #delta(step: number, text: string, offset: number): ReadonlyArray<RunPart> {
    if (step <= this.#settled) return []
    if (step !== this.#given.step) this.#given = nothingOf(step)
    // The turn from its start: it was begun anew, or this is all of it so far.
    else if (offset === 0 && this.#given.length > 0) return this.#anew(step, text)
    // The watch began within the turn, or pieces were left out: the text will come from the journal.
    if (offset !== this.#given.length || text === "") return []
    return this.#give(step, text)
  }

  /** Takes the turn as it was journaled, and returns the part of it that was not delivered yet. */
  #turned(step: number, text: string): ReadonlyArray<RunPart> {
    if (step !== this.#given.step) this.#given = nothingOf(step)
    const parts = this.#anew(step, text)
    this.#settled = Math.max(this.#settled, step)
    return parts
  }

  /** The text of a turn from its start: what follows what was given, or all of it, where it does not begin with that. */
  #anew(step: number, text: string): ReadonlyArray<RunPart> {
    const { hash, length } = this.#given
    const isSame = text.length >= length && hashed(hash_empty, text.slice(0, length)) === hash
    if (isSame) return text.length === length ? [] : this.#give(step, text.slice(length))
    this.#given = nothingOf(step)
    const restart: RunPart = { type: "restart", step, cursor: this.#cursor }
    return text === "" ? [restart] : [restart, ...this.#give(step, text)]
  }

  #give(step: number, text: string): ReadonlyArray<RunPart> {
    const { hash, length } = this.#given
    this.#given = { step, length: length + text.length, hash: hashed(hash, text) }
    return [{ type: "text", step, text, cursor: this.#cursor }]
  }
}

const nothingOf = (step: number): GivenText => ({ step, length: 0, hash: hash_empty })

/** The feed of one run, which ends with the run, as the parts between the first and the last. */
export const runParts = <E, R>(
  run: string,
  position: StreamPosition,
  feed: Stream.Stream<FeedItem, E, R>
): Stream.Stream<RunPart, E, R> =>
  Stream.suspend(() => {
    const maker = new PartMaker(run, position)
    return Stream.flatMap(feed, (item) => Stream.fromIterable(maker.partsOf(item)))
  })
