/** One run over the event stream of its conversation: its text as the model writes it, its events, and its end. */
import type { ApprovalPayload } from "../../../src/approval/Approval.ts"
import type { QueuedBehind } from "../../../src/run/QueuedBehind.ts"
import type { RunEnded } from "../../../src/run/RunEvent.ts"
import type { GivenText } from "../../../src/run/TurnText.ts"
import { TurnText } from "../../../src/run/TurnText.ts"
import type { Connection } from "./Connection.ts"
import { segment } from "./Connection.ts"
import type { RunEventJson, WatchItem } from "./ConversationWatch.ts"
import { watchConversation } from "./ConversationWatch.ts"
import { isObject, TroupeError, wrongInput } from "./TroupeError.ts"

/** A run that was sent before: what `send` gives, or the ids of the first part of its stream. */
export interface SentRun {
  /** The id of the run. */
  readonly run: string
  /** The id of its conversation. */
  readonly conversation: string
  /** The message's number in its conversation, from 1. Absent = the run is looked for from the conversation's start. */
  readonly ordinal?: number
}

/** The end of a run. */
export type Ended = RunEnded & {
  /** The id of the run. */
  readonly run: string
  /** The id of its conversation: a next message there goes on with it. */
  readonly conversation: string
}

/** A question that waits for people. */
export interface AskedQuestion {
  /** Its id, for `decide`. */
  readonly id: string
  /** What a person is shown of it. */
  readonly payload: (typeof ApprovalPayload)["Encoded"]
  /** When nobody can answer it any more, in ms since 1970. Absent = it waits without a limit. */
  readonly expires_at?: number
}

/** The run has not ended: people have to act first. `result` waits again. */
export interface Awaiting {
  /** People have to act before the run goes on. */
  readonly status: "awaiting_approval"
  /** The id of the run. */
  readonly run: string
  /** The id of its conversation. */
  readonly conversation: string
  /** The questions that the caller may see, oldest first. `clientCalls` and `unknown` list what else a run may wait for. */
  readonly approvals: ReadonlyArray<AskedQuestion>
  /** None: the run has no answer yet. */
  readonly text?: undefined
}

/** What the agent says, and what happens in its run. */
export type RunPart =
  | {
      /** The message is durable. This is the first part. */
      readonly type: "begun"
      /** The id of the run. */
      readonly run: string
      /** The id of its conversation. */
      readonly conversation: string
      /** `stream` goes on behind this part with it. */
      readonly cursor: string
    }
  | {
      /** The run waits for people to answer questions of an earlier run; comes again when these are others. */
      readonly type: "queued"
      /** The earlier run, and its open questions. */
      readonly behind: (typeof QueuedBehind)["Encoded"]
      /** `stream` goes on behind this part with it. */
      readonly cursor: string
    }
  | {
      /** The next piece of what the agent says in this turn. All pieces of a turn together are its text. */
      readonly type: "text"
      /** The turn, from 1. */
      readonly step: number
      /** The piece: it follows those before it. */
      readonly text: string
      /** `stream` goes on behind this part with it. */
      readonly cursor: string
    }
  | {
      /** The turn starts over, because its request failed: its pieces so far are void. */
      readonly type: "restart"
      /** The turn, from 1. */
      readonly step: number
      /** `stream` goes on behind this part with it. */
      readonly cursor: string
    }
  | {
      /** Something was journaled, such as a question to an approver or the outcome of a call. */
      readonly type: "event"
      /** The event's place in the journal of the run, from 0. */
      readonly seq: number
      /** What happened. */
      readonly event: RunEventJson
      /** `stream` goes on behind this part with it. */
      readonly cursor: string
    }
  | {
      /** The run has ended. This is the last part. */
      readonly type: "end"
      /** How it ended, with its text. */
      readonly answer: Ended
    }

/** Behind every event of a run. */
const last_seq = 999_999_999
const root = "0"

const startOf = ({ ordinal = 1 }: SentRun): string =>
  ordinal <= 1 ? "0" : `${ordinal - 1}.${last_seq}`

const cursorOf = (event: string, open: GivenText | undefined): string =>
  open === undefined ? event : `${event}@${open.step}.${open.length}.${open.hash.toString(36)}`

const written = /^([0-9.~]{1,45})(?:@(\d{1,9})\.(\d{1,9})\.([0-9a-z]{1,7})|(!))?$/

/** A place in the stream of a run. `isOver`: the event that comes next is its end, and was given. */
interface Position {
  readonly behind: string
  readonly open?: GivenText
  readonly isOver?: boolean
}

const readCursor = (cursor: unknown): Position => {
  const [, behind, step, length, hash, over] = written.exec(String(cursor)) ?? []
  if (behind === undefined) throw wrongInput("after: expected the `cursor` of a part")
  if (hash === undefined) return { behind, isOver: over !== undefined }
  const open = { step: Number(step), length: Number(length), hash: Number.parseInt(hash, 36) }
  return { behind, open }
}

/** Fails if no such run is in the conversation. One that waits for its turn has no event yet. */
const assertKnown = async (
  connection: Connection,
  { conversation, run }: SentRun,
  signal: AbortSignal | undefined
): Promise<void> => {
  const ask = { method: "GET", path: `/v1/runs/${segment("run", run)}` }
  const found = await connection.json(ask, { signal }).catch((error: unknown) => {
    // Customers may not read runs, and wait.
    if (error instanceof TroupeError && error.status === 403) return { conversation }
    throw error
  })
  if (isObject(found) && found["conversation"] === conversation) return
  throw new TroupeError("RunNotFound", `There is no run ${run} in conversation ${conversation}.`)
}

/** What happens in a run behind a cursor of the conversation, and once `current`. */
async function* itemsOf(
  connection: Connection,
  sent: SentRun,
  after: string,
  signal: AbortSignal | undefined
): AsyncGenerator<WatchItem> {
  let isKnown = false
  for await (const item of watchConversation(connection, sent.conversation, after, signal)) {
    if (item.type === "current" && !isKnown) await assertKnown(connection, sent, signal)
    if (item.type !== "current" && item.run !== sent.run) continue
    isKnown = true
    yield item
  }
}

/** The parts of a run behind a cursor, or from its start, to its end. */
export async function* followRun(
  connection: Connection,
  sent: SentRun,
  after: string | undefined,
  signal: AbortSignal | undefined
): AsyncGenerator<RunPart> {
  const { conversation, run } = sent
  const given = after === undefined ? { behind: startOf(sent) } : readCursor(after)
  let { behind } = given
  const texts = new TurnText((open) => cursorOf(behind, open), given.open)
  yield { type: "begun", run, conversation, cursor: after ?? behind }
  for await (const item of itemsOf(connection, sent, behind, signal)) {
    if (item.type === "queued") {
      yield { type: "queued", behind: item.behind, cursor: texts.cursor }
    } else if (item.type === "delta") {
      const { frame, kind, offset, step, text } = item
      if (frame === root && kind === "text") yield* texts.delta(step, text, offset)
    } else if (item.type === "event") {
      const { cursor, event, seq } = item
      const isTurn = event._tag === "ModelTurned" && event.frame === root
      if (isTurn) yield* texts.turned(event.step, event.text)
      if (event._tag === "RunEnded") {
        if (given.isOver !== true) yield { type: "event", seq, event, cursor: `${behind}!` }
        yield { type: "end", answer: { ...event, run, conversation } as Ended }
        return
      }
      behind = cursor
      yield { type: "event", seq, event, cursor: texts.cursor }
    }
  }
}

/** What a run waits for people with, by its events. */
class OpenQuestions {
  readonly shown = new Map<string, AskedQuestion>()
  readonly #unknown = new Set<string>()
  #asked = 0

  get isWaiting(): boolean {
    return this.#asked + this.#unknown.size > 0
  }

  apply(event: RunEventJson): void {
    switch (event._tag) {
      case "ApprovalRequested":
      case "ClientRequested":
        this.#asked++
        // A customer is not told which question others answer.
        if (event._tag === "ClientRequested" || event.approval === undefined) return
        this.shown.set(event.approval, {
          id: event.approval,
          payload: event.payload,
          ...(event.expires_at === undefined ? undefined : { expires_at: event.expires_at })
        })
        return
      case "ApprovalDecided":
      case "ApprovalClosed":
        this.#asked--
        this.shown.delete(event.approval)
        return
      case "CallUnknown":
        this.#unknown.add(event.call)
        return
      case "CallReopened":
      case "CallSettled":
        this.#unknown.delete(event.call)
        return
      default:
        return
    }
  }
}

/** The end of a run, or the first moment at which it waits for people. */
export const outcomeOf = async (
  connection: Connection,
  sent: SentRun,
  signal: AbortSignal | undefined
): Promise<Ended | Awaiting> => {
  const { conversation, run } = sent
  const questions = new OpenQuestions()
  let isCurrent = false
  for await (const item of itemsOf(connection, sent, startOf(sent), signal)) {
    if (item.type === "current") isCurrent = true
    if (item.type === "event") {
      if (item.event._tag === "RunEnded") return { ...item.event, run, conversation } as Ended
      questions.apply(item.event)
    }
    if (isCurrent && questions.isWaiting) {
      return {
        status: "awaiting_approval",
        run,
        conversation,
        approvals: [...questions.shown.values()]
      }
    }
  }
  throw new Error("a conversation ended")
}
