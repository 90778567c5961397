/**
 * Events read from their stored JSON, and runs whose journal does not fold: an event is missing, cannot be read, is of a type that
 * this version does not know, or does not fit the others. Such a run is listed and left as it is until an operator has repaired it.
 */
import { Result, Schema } from "effect"
import { AgentName, ConversationId, RunId } from "../value/Ids.ts"
import type { JournalEntry } from "./RunEvent.ts"
import type { FoldState, RunState } from "./RunState.ts"
import { isAccepted, emptyState } from "./RunState.ts"
import { evolve } from "./RunFold.ts"
import { canonical } from "../value/Canonical.ts"
import { RunEvent } from "./RunEvent.ts"

const tagOf = (event: unknown): unknown =>
  typeof event === "object" && event !== null && "_tag" in event ? event._tag : undefined

// One decoder for each kind of event, compiled once and found by its tag: a resume decodes every event of a run, and decoding a
// union looks for the member first (bench row `answers`). Events of this version need no defaults filled in, so these decoders
// skip them: for a run's first event, filling in defaults takes most of the time.
const complete = new Map<unknown, (event: unknown) => Result.Result<RunEvent, Schema.SchemaError>>(
  RunEvent.members.map((member) => [
    member.fields._tag.ast.literal,
    Schema.decodeUnknownResult(Schema.toType<Schema.Schema<RunEvent>>(member))
  ])
)
const older = Schema.decodeUnknownResult(RunEvent)

/** Decodes the JSON value of a stored event, of this version or of an earlier one. */
export const decodeEvent = (event: unknown): Result.Result<RunEvent, Schema.SchemaError> => {
  const given = complete.get(tagOf(event))?.(event)
  return given !== undefined && Result.isSuccess(given) ? given : older(event)
}

/** Whether the JSON value has a tag that no event of this version has. */
export const isUnknownEvent = (event: unknown): boolean => {
  const tag = tagOf(event)
  return typeof tag === "string" && !complete.has(tag)
}

/** Do these events come back from their text? */
export const areReadable = (events: ReadonlyArray<unknown>): boolean =>
  events.every((event) =>
    Result.isSuccess(
      Result.flatMap(
        Result.try((): unknown => JSON.parse(canonical(event))),
        decodeEvent
      )
    )
  )

/** `gap`: there is no event at `seq`. `unfoldable`: each event can be read, and the one at `seq` does not fit the others. */
export const QuarantineReason = Schema.Literals([
  "gap",
  "unreadable",
  "unknown_event",
  "unfoldable"
])
export type QuarantineReason = typeof QuarantineReason.Type

/** The run is left as it is until it is repaired and released. `seq`: the first event at fault. */
export class RunQuarantined extends Schema.TaggedError<RunQuarantined>()("RunQuarantined", {
  /** The id of the run. */
  run_id: Schema.String,
  /** What is wrong with its journal. */
  reason: QuarantineReason,
  /** The first event at fault, from 0. */
  seq: Schema.Int,
  /** For a watcher, of a run that is over: behind `{ordinal, seq}` its conversation goes on. */
  ordinal: Schema.optionalKey(Schema.Int)
}) {
  override get message(): string {
    return `run ${this.run_id} is in quarantine: its journal does not fold at event ${this.seq} (${this.reason})`
  }
}

/** The run's journal folds: it is read as that of any run. */
export class RunNotQuarantined extends Schema.TaggedError<RunNotQuarantined>()(
  "RunNotQuarantined",
  {
    /** The id of the run. */
    run_id: Schema.String
  }
) {
  override get message(): string {
    return `run ${this.run_id} is not in quarantine: its journal folds`
  }
}

/** A run in quarantine, as operators see it. */
export const QuarantinedRun = Schema.Struct({
  /** The id of the run. */
  run_id: RunId,
  /** The agent whose run it is. */
  agent: AgentName,
  /** The conversation of the run. */
  conversation: ConversationId,
  /** What is wrong with its journal. */
  reason: QuarantineReason,
  /** The first event at fault. */
  seq: Schema.Int,
  /** How many events its head counts. */
  length: Schema.Int,
  /** Since when; ms since 1970. */
  at: Schema.Int,
  /** Later runs of the conversation, which wait until it is released. */
  waiting: Schema.Int
}).annotate({ identifier: "QuarantinedRun" })
export interface QuarantinedRun extends Schema.Schema.Type<typeof QuarantinedRun> {}

/** A row of a journal as it is stored. `payload` is a text that may be no JSON; absent seqs are missing rows. */
export const RawEvent = Schema.Struct({
  /** The event's place in the journal, from 0. */
  seq: Schema.Int,
  /** ms since 1970. */
  at: Schema.Int,
  /** The tag of the event. */
  type: Schema.String,
  /** The stored text, which may be no JSON. */
  payload: Schema.String
}).annotate({ identifier: "RawEvent" })
export interface RawEvent extends Schema.Schema.Type<typeof RawEvent> {}

/**
 * The state after all of a run's entries, of which there are `length`, or why there is none. `before` is called with each entry
 * and the state before it.
 */
export const foldWhole = (
  run_id: RunId,
  entries: ReadonlyArray<JournalEntry>,
  length: number,
  before?: (state: FoldState, entry: JournalEntry) => void
): Result.Result<RunState, RunQuarantined> => {
  const state = emptyState()
  for (let seq = 0; seq < length; seq++) {
    const entry = entries[seq]
    if (entry === undefined || entry.seq !== seq) {
      return Result.fail(new RunQuarantined({ run_id, reason: "gap", seq }))
    }
    const folded = Result.try(() => {
      before?.(state, entry)
      evolve(state, entry.event)
    })
    if (Result.isFailure(folded)) {
      return Result.fail(new RunQuarantined({ run_id, reason: "unfoldable", seq }))
    }
  }
  return isAccepted(state)
    ? Result.succeed(state)
    : Result.fail(new RunQuarantined({ run_id, reason: "gap", seq: 0 }))
}
