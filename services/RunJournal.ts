/**
 * The append-only list of what happened to each run, and the only place where it is written. Owns order, fencing and the
 * projections that commit with an event (approvals, task status, the answer in the conversation). Knows no agent, no model and no
 * tool. `RunReader` reads it, and `RunOwnership` says who may append.
 */
import { Context, Effect, Result, Schema } from "effect"
import type { Exit } from "effect"
import type { RunId } from "../src/value/Ids.ts"
import type { RunQuarantined } from "../src/run/Quarantine.ts"
import { foldWhole, areReadable } from "../src/run/Quarantine.ts"
import type { Amendment, RunNotFound } from "../src/run/RunCommand.ts"
import type { JournalEntry, RunAccepted, RunEvent } from "../src/run/RunEvent.ts"
import { JournalError } from "./StoreError.ts"
import type { BudgetSettlement } from "./BudgetLedger.ts"
import type { RunState, RunStatus } from "../src/run/RunState.ts"
import { fold } from "../src/run/RunFold.ts"

export { JournalError }

/** Another owner has claimed the run: the caller has to stop at once. */
export class FencedOff extends Schema.TaggedError<FencedOff>()("FencedOff", {
  /** The id of the run. */
  run_id: Schema.String,
  /** The epoch that the caller had. */
  epoch: Schema.Int
}) {}

/**
 * The epoch is the current one, but the length is not: a command was appended first, or the acknowledgement of an append was
 * lost.
 */
export class StaleAppend extends Schema.TaggedError<StaleAppend>()("StaleAppend", {
  /** The id of the run. */
  run_id: Schema.String,
  /** The length that the caller expected. */
  length: Schema.Int
}) {}

/** A command made an event that its own codec cannot decode again: nothing was written. */
const unreadableEvent = new JournalError({
  message: "an event that could not be read again is not written",
  lost: false
})

/** The epoch and the length of the journal that a writer expects. */
export interface Fence {
  /** The owner's epoch. */
  readonly epoch: number
  /** How many events the journal has. */
  readonly length: number
}

/** Events to add to one journal, if nobody else did meanwhile. */
export interface Append {
  /** The run. */
  readonly run: RunId
  /** The epoch and length that the journal must have. */
  readonly fence: Fence
  /** At least one. */
  readonly events: ReadonlyArray<RunEvent>
  /** The run's status after them (`statusOf` of the folded state). */
  readonly status: RunStatus
  /** Whether the run is parkable after them (`RunHead.parkable`). Absent = no: it is recovered when its owner is gone. */
  readonly parkable?: boolean
  /** When the events happened, in ms since 1970: a clock reading of just now. Absent = the journal reads its clock. */
  readonly at?: number | undefined
  /** What the events took of budgets; settled in the same transaction. Absent = nothing. */
  readonly took?: BudgetSettlement | undefined
}

/** Appends events; they are durable when the Effect succeeds. A refusal changes nothing. */
export interface AppendEvents {
  (append: Append): Effect.Effect<void, StaleAppend | FencedOff | JournalError>
  /**
   * The same append, but begun by the call itself rather than when the Effect is run. A store that appends synchronously has
   * appended when the call returns, and returns an Exit, so that the run's loop starts no fiber (bench row `step`). Absent = not
   * supported, as in a journal that wraps the appends of another.
   */
  readonly now?: (append: Append) => Effect.Effect<void, StaleAppend | FencedOff | JournalError>
}

/** The journals of runs: they only grow, and one owner at a time writes each. */
export class RunJournal extends Context.Service<
  RunJournal,
  {
    /** Begins a run with `RunAccepted` at seq 0, epoch 0. True = it is new; false = it exists, and nothing was changed. */
    create(run: RunId, ordinal: number, accepted: RunAccepted): Effect.Effect<boolean, JournalError>

    /** Adds events if the fence holds. Fails with StaleAppend or FencedOff if it does not, and changes nothing then. */
    readonly append: AppendEvents

    /**
     * Runs `body` and appends the events that `record` makes of its exit, in one transaction that holds the run's lock, so that
     * the body's writes and its events commit together. If the exit is a failure, the body's own writes are rolled back and the
     * events are still appended. The body has at most 5 s; then it is interrupted, and its exit is that interruption. Where
     * `record` gives no events, nothing is appended.
     */
    transact<A, E, R>(
      run: RunId,
      fence: Fence,
      body: Effect.Effect<A, E, R>,
      record: (exit: Exit.Exit<A, E>) => Pick<Append, "events" | "status" | "parkable" | "took">
    ): Effect.Effect<void, StaleAppend | FencedOff | JournalError, R>

    /**
     * Applies a command from outside to the current state of the run. If the run was written meanwhile, the command is called
     * again with the new state. `command` is pure, owns the state that it gets and may change it; `now` is in ms since 1970.
     *
     * The events that it returns are durable on return. Listeners of `onAmended` are woken after the commit, in every process;
     * one of them may have the run claimed with the amendment. If the codec could not read the events again, nothing is written,
     * and this fails with a JournalError whose `lost` is false.
     */
    amend<A, E>(
      run: RunId,
      command: (state: RunState, now: number) => Amendment<A, E>
    ): Effect.Effect<A, E | RunNotFound | RunQuarantined | JournalError>
  }
>()("troupe/services/RunJournal") {}

/** What a command returned for a run: its answer and its events. */
export interface Amended<A, E> {
  /** What the command answered. */
  readonly answer: Result.Result<A, E>
  /** What it appended. */
  readonly events: ReadonlyArray<RunEvent>
  /** The state after these events. */
  readonly after: RunState
}

/**
 * Applies a command to the state of a run; `entries` are its entries, of which there have to be `length`. Every journal
 * implements `amend` with it. If it fails, nothing is written.
 */
export const amendmentOf = <A, E>(
  run: RunId,
  entries: ReadonlyArray<JournalEntry>,
  length: number,
  command: (state: RunState, now: number) => Amendment<A, E>,
  now: number
): Result.Result<Amended<A, E>, RunQuarantined | JournalError> =>
  Result.flatMap(foldWhole(run, entries, length), (state) => {
    const { answer, events } = command(state, now)
    if (!areReadable(events)) return Result.fail(unreadableEvent)
    // The command may have changed the state that it was given: what counts is the fold of what is written.
    const after =
      events.length === 0 ? state : fold([...entries.map(({ event }) => event), ...events])
    return Result.succeed({ answer, events, after })
  })
