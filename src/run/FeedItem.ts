/** What a watch of a conversation gives, and a place in it. */
import type { CallId, FrameId, RunId } from "../value/Ids.ts"
import type { QueuedBehind } from "./QueuedBehind.ts"
import type { JournalEntry } from "./RunEvent.ts"

/**
 * A position in a conversation: the reader has seen all events up to and including this one. `{ ordinal: 0, seq: -1 }` = none.
 */
export interface Cursor {
  /** The number of the run in its conversation, from 1; 0 = before the first. */
  readonly ordinal: number
  /** The event's place in the journal of that run, from 0; -1 = before the first. */
  readonly seq: number
  /**
   * The last event that was seen of the runs that answer beside that run; those of them before it were seen whole. Absent = none.
   */
  readonly beside?:
    | {
        /** The number of the run that the event is of. */
        readonly ordinal: number
        /** The event's place in the journal of that run, from 0. */
        readonly seq: number
      }
    | undefined
}

/**
 * An item of a watch. `Event`: a journaled event, with its cursor. `Delta` and `Output`: pieces of the turn in progress, and what
 * calls show before they end; these have no cursor and go only to those who watch at that moment. `Queued`: a message waits for
 * the answers of people to an earlier run; it has no cursor either, and comes to everyone who watches while that is so. `CaughtUp`,
 * once: everything that was journaled when the watch began has been delivered, and what follows happens from then on.
 */
export type FeedItem =
  | {
      readonly _tag: "Event"
      /** The id of the run. */
      readonly run: RunId
      /** The run's number in its conversation, from 1. */
      readonly ordinal: number
      /** The event, with its place and time. */
      readonly entry: JournalEntry
      /** What resumes behind this event, where it or its run has runs beside it. Absent = the place of this event. */
      readonly cursor?: Cursor
    }
  | {
      readonly _tag: "Delta"
      /** The id of the run. */
      readonly run: RunId
      /** The run's number in its conversation, from 1. */
      readonly ordinal: number
      /** The frame whose turn it is; `0` = that of the run's agent. */
      readonly frame: FrameId
      /** The turn, from 1. */
      readonly step: number
      /** What the model says, or what it thinks. */
      readonly kind: "text" | "reasoning"
      /** The piece. */
      readonly text: string
      /** 0 = the turn begins anew: the watcher drops the pieces that it has of it. */
      readonly offset: number
    }
  | {
      readonly _tag: "Output"
      /** The id of the run. */
      readonly run: RunId
      /** The run's number in its conversation, from 1. */
      readonly ordinal: number
      /** The frame of the call. */
      readonly frame: FrameId
      /** The turn that proposed the call. */
      readonly step: number
      /** The call that is at work. */
      readonly call: CallId
      /** The call's preliminary output, as JSON text, cut at 16,384 bytes. It replaces what was shown of the call before. */
      readonly text: string
    }
  | {
      readonly _tag: "Queued"
      /** The run of the message that waits, and its number in the conversation. */
      readonly run: RunId
      /** The number of that run in its conversation, from 1. */
      readonly ordinal: number
      /** It comes again when these are other questions. */
      readonly behind: QueuedBehind
    }
  | {
      readonly _tag: "CaughtUp"
      /** The position of the last event that was delivered, or of the start of the watch. */
      readonly ordinal: number
      /** The place in that run's journal; -1 = none of its events. */
      readonly seq: number
    }

/** One item of a feed, or several at once. */
export type FeedItems = readonly [FeedItem, ...Array<FeedItem>]
