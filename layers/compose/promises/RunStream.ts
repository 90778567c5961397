/**
 * One message and its run as a stream that ends with the run: the text as the model writes it, the events, and the answer.
 */
import { Stream } from "effect"
import type { QueuedBehind } from "../../../src/run/QueuedBehind.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { FeedItem } from "../../../src/run/FeedItem.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import type { Ended, EndedWith, PartialAnswer } from "./Answer.ts"
import { TurnText } from "../../../src/run/TurnText.ts"
import type { StreamPosition } from "./StreamPosition.ts"
import { cursorOf } from "./StreamPosition.ts"

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
  #events: number
  readonly #texts: TurnText

  constructor(run: string, { events, text }: StreamPosition) {
    this.#events = events
    this.#texts = new TurnText(
      (text) => cursorOf(run, { events: this.#events, ...(text && { text }) }),
      text
    )
  }

  partsOf(item: FeedItem): ReadonlyArray<RunPart> {
    if (item._tag === "Delta") {
      const isAnswer = item.frame === rootFrame && item.kind === "text"
      return isAnswer ? this.#texts.delta(item.step, item.text, item.offset) : []
    }
    if (item._tag === "Queued") {
      return [{ type: "queued", behind: item.behind, cursor: this.#texts.cursor }]
    }
    if (item._tag !== "Event") return []
    const { event, seq } = item.entry
    const isTurn = event._tag === "ModelTurned" && event.frame === rootFrame
    const text = isTurn ? this.#texts.turned(event.step, event.text) : []
    this.#events = seq + 1
    return [...text, { type: "event", seq, event, cursor: this.#texts.cursor }]
  }
}

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
