/**
 * The append-only list of what happened to each run, and the only place where it is written. Owns order, fencing and the
 * projections that commit with an event (approvals, task status, the answer in the conversation). Knows no agent, no model and no
 * tool.
 *
 * A run whose journal does not fold is put in quarantine by the first method that notices. Claim, read and amend then fail with
 * RunQuarantined, nothing is appended to the run, and recovery and sweeps skip it.
 */
import { Context, Effect, Metric, Result, Schema } from "effect"
import type { Exit, Scope } from "effect"
import { totalMetric } from "../src/value/TotalMetric.ts"
import type { Approval } from "../src/approval/Approval.ts"
import type { Address, ConversationId, MessageId, RunId, Tenant } from "../src/value/Ids.ts"
import type { Need } from "../src/run/Needs.ts"
import type { QuarantinedRun, RawEvent, RunQuarantined } from "../src/run/Quarantine.ts"
import { eventUnits } from "../src/run/HeldUnits.ts"
import { foldWhole, QuarantineReason } from "../src/run/Quarantine.ts"
import { areReadable } from "../src/run/ReadableEvents.ts"
import type { Amendment, RunIsOver, RunNotFound } from "../src/run/RunCommand.ts"
import type { JournalEntry, RunAccepted, RunEvent } from "../src/run/RunEvent.ts"
import { JournalError } from "./StoreError.ts"
import type { RunState, RunStatus } from "../src/run/RunState.ts"
import { fold } from "../src/run/RunFold.ts"

export { JournalError }

/** Another owner has claimed the run: the caller has to stop at once. */
export class FencedOff extends Schema.TaggedError<FencedOff>()("FencedOff", {
  run_id: Schema.String,
  epoch: Schema.Int
}) {}

/**
 * The epoch is the current one, but the length is not: a command was appended first, or the acknowledgement of an append was
 * lost.
 */
export class StaleAppend extends Schema.TaggedError<StaleAppend>()("StaleAppend", {
  run_id: Schema.String,
  length: Schema.Int
}) {}

/** A command made an event that its own codec cannot decode again: nothing was written. */
const unreadableEvent = new JournalError({
  message: "an event that could not be read again is not written",
  lost: false
})

/** The epoch and the length of the journal that a writer expects. */
export interface Fence {
  readonly epoch: number
  readonly length: number
}

export interface Append {
  readonly run: RunId
  readonly fence: Fence
  /** At least one. */
  readonly events: ReadonlyArray<RunEvent>
  /** The run's status after them (`statusOf` of the folded state). */
  readonly status: RunStatus
  /** Whether the run is parkable after them (`RunHead.parkable`). Absent = no: it is recovered when its owner is gone. */
  readonly parkable?: boolean
  /** When the events happened, in ms since 1970: a clock reading of just now. Absent = the journal reads its clock. */
  readonly at?: number | undefined
}

export interface RunHead {
  readonly run_id: RunId
  readonly tenant: Tenant
  readonly address: Address
  readonly conversation: ConversationId
  readonly ordinal: number
  readonly status: RunStatus
  readonly epoch: number
  readonly length: number
  readonly created_at: number
  /** The process that owns the run while its lease lasts; undefined if there is none. */
  readonly owner: string | undefined
  /**
   * The run is parkable: only people can move it, by a decision, a cancel or an operator's result (`isParkable`). It may be
   * resident, with its actor in a process, or parked. It continues after an amendment.
   */
  readonly parkable: boolean
  /** The journal does not fold: the run is not continued, and later runs of its address wait. */
  readonly quarantined?: true
  /** What its last owner did not host (`Needs`): only a process that hosts all of it may claim the run. Absent = not known. */
  readonly needs?: ReadonlyArray<Need>
}

export interface Claim {
  readonly head: RunHead
  /**
   * All entries so far; the last one is this claim's `RunClaimed`. They are for the fold: in a long journal a long result may be the
   * model's copy of it (`CallResult.ts`).
   */
  readonly entries: ReadonlyArray<JournalEntry>
}

/** The run of an accepted task, for a process that begins the run itself. */
export interface Beginning {
  readonly run: RunId
  readonly ordinal: number
  readonly accepted: RunAccepted
  /** The outbox message that dispatches the task, and the claim that holds it (`Accepted.held`). */
  readonly dispatch: { readonly id: MessageId; readonly claim: string }
}

/**
 * Claims a run in the same append as an amendment that gives the run something to do. It is asked before the amendment is
 * durable, and only for a run that was claimed before and whose owner is the claimant itself, is absent, or is probably dead.
 */
export interface Claimant {
  readonly owner: string
  /** Whether to claim the run; `head` is its head after the amendment. Must be fast and must not throw. */
  readonly accepts: (head: RunHead) => boolean
  /**
   * Whether this other owner is dead, as far as is known. Asked only about the owner of a run that waited for people alone: no
   * work of it was in flight, so none is lost if the owner is alive after all. Absent = only the owner's lease decides.
   */
  readonly isProbablyDead?: (owner: string) => boolean
}

/**
 * A listener to amendments. `claim` is the claim that was made with the amendment, if it was made for the listener's own
 * claimant.
 */
export interface AmendmentListener {
  readonly onAmended: (run: RunId | undefined, claim?: Claim) => void
  readonly claimant: Claimant | undefined
}

const mayTake = (
  { owner, isProbablyDead }: Claimant,
  { owner: current }: RunHead,
  waited: boolean
) => current === undefined || current === owner || (waited && isProbablyDead?.(current) === true)

/**
 * The listener whose claimant takes the run, if the amendment leaves the run to be continued by whoever claims it. `waited`:
 * before the amendment the run waited for people alone.
 */
export const claimingListener = <L extends AmendmentListener>(
  listeners: Iterable<L>,
  head: RunHead,
  waited: boolean
): L | undefined => {
  if (head.epoch === 0 || head.parkable || head.status !== "processing") return undefined
  for (const listener of listeners) {
    const { claimant } = listener
    if (claimant === undefined || !mayTake(claimant, head, waited)) continue
    if (claimant.accepts(head)) return listener
  }
  return undefined
}

/** Stored rows of a run's journal. */
export interface RawPage {
  readonly quarantined: boolean
  readonly events: ReadonlyArray<RawEvent>
}

export interface QuarantineQuery {
  readonly tenant: Tenant
  /** 1 to 500. */
  readonly limit: number
  /** Continue after this one. */
  readonly after?: RunId | undefined
}

const quarantined_total = totalMetric(
  "troupe_runs_quarantined_total",
  "Runs that were put in quarantine, by reason"
)

/** Begins the counter at 0 for each reason, so that the first such run after a start is an increase. */
export const beginQuarantineCounter: Effect.Effect<void> = Effect.forEach(
  QuarantineReason.literals,
  (reason) => Metric.update(Metric.withAttributes(quarantined_total, { reason }), 0),
  { discard: true }
)

/** Reports to operators, by log and metric, that a run was put in quarantine. Every journal does so once per run. */
export const announceQuarantine = (error: RunQuarantined): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(quarantined_total, { reason: error.reason }), 1),
    Effect.logError(`a run was put in quarantine: ${error.message}`).pipe(
      Effect.annotateLogs({ run_id: error.run_id, reason: error.reason, seq: error.seq })
    )
  )

/** Logs that the record of a question was missing, which only a change of the database from outside can cause. */
export const announceLostRecord = ({ id, run_id }: Approval): Effect.Effect<void> =>
  Effect.annotateLogs(
    Effect.logError("the record of a question was lost; it is written again from the journal"),
    { approval: id, run_id }
  )

/** Consecutive entries of one run that this process has appended. */
export interface Committed {
  readonly run: RunId
  /** The seq of the first entry. */
  readonly from: number
  /** At least 1. */
  readonly count: number
  /** Whether the last entry ends the run. */
  readonly isEnd: boolean
  /** Whether one of the entries may end a wait for the outcome of the run (`mayEndWait`). */
  readonly mayEndWait: boolean
  /** The UTF-16 units that this object keeps in memory; 0 if the store has the entries in memory anyway. */
  readonly size: number
  /** The entries exactly as `read` returns them; undefined where `read` would fail. */
  entries(): ReadonlyArray<JournalEntry> | undefined
}

/** Listens to commits. Its functions must be fast and must not throw, because an append waits for them. */
export interface CommitListener {
  /** Whether the listener takes entries of the run. Asked at each append. */
  readonly accepts: (run: RunId) => boolean
  readonly onCommitted: (committed: Committed) => void
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

export class RunJournal extends Context.Service<
  RunJournal,
  {
    /** Begins a run with `RunAccepted` at seq 0, epoch 0. True = it is new; false = it exists, and nothing was changed. */
    create(run: RunId, ordinal: number, accepted: RunAccepted): Effect.Effect<boolean, JournalError>

    /**
     * Creates a run and claims it for `owner` in one append, at epoch 1. The message that dispatches its task is removed from the
     * outbox in the same transaction. Undefined = nothing was begun: either the claim does not hold the message any more, or the
     * run exists already, in which case the message is removed.
     */
    begin(beginning: Beginning, owner: string): Effect.Effect<Claim | undefined, JournalError>

    /**
     * Claims the run for `owner`: appends `RunClaimed` at the next epoch, so that every older writer is refused. `seen` is the
     * epoch at which the run was found to be free; with it, the claim fails if another owner has claimed the run since.
     */
    claim(
      run: RunId,
      owner: string,
      seen?: number
    ): Effect.Effect<Claim, RunNotFound | RunIsOver | RunQuarantined | FencedOff | JournalError>

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
      record: (exit: Exit.Exit<A, E>) => Pick<Append, "events" | "status" | "parkable">
    ): Effect.Effect<void, StaleAppend | FencedOff | JournalError, R>

    /** Returns at most `limit` (up to 10,000) entries, starting at `from`. An unknown run has none. */
    read(
      run: RunId,
      from: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<JournalEntry>, RunQuarantined | JournalError>
    /**
     * As `read`, for a principal of this tenant: a run of another tenant is unknown. SQL stores that have a tenant role also
     * enforce this with row-level security.
     */
    readFor(
      tenant: Tenant,
      run: RunId,
      from: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<JournalEntry>, RunQuarantined | JournalError>

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

    head(run: RunId): Effect.Effect<RunHead, RunNotFound | JournalError>

    /** Runs of a tenant's address that have not ended, ordered by ordinal; at most `limit`. */
    unfinished(
      tenant: Tenant,
      address: Address,
      limit: number
    ): Effect.Effect<ReadonlyArray<RunHead>, JournalError>

    /** Extends the lease of the process `owner` to `lease_ms` from now. */
    heartbeat(owner: string, lease_ms: number): Effect.Effect<void, JournalError>

    /** Ends the lease of `owner`: other processes may recover its runs at once. */
    release(owner: string): Effect.Effect<void, JournalError>

    /**
     * Returns at most `limit` runs that `owner` should continue. Tenants take turns, each with its oldest run. A run qualifies if
     * it has not ended and is not parkable, if its owner has no lease or is `owner` itself, if its agent and needs are all among
     * `hosted`, and if it is the first run of its tenant's address that has not ended. A run that awaits a person but is not
     * parkable can qualify, because other work than the question may have been in flight.
     */
    recoverable(
      owner: string,
      hosted: ReadonlyArray<Need>,
      limit: number
    ): Effect.Effect<ReadonlyArray<RunHead>, JournalError>

    /**
     * Makes `owner` the owner of at most `limit` runs, and returns the runs that it took. Tenants take turns, each with its
     * oldest run. A run qualifies if it is parkable, if its owner has no lease, and if its agent and needs are all among
     * `hosted`.
     *
     * This is not a claim: nothing is appended and no writer is fenced, because such a run has nothing to do until a person
     * answers.
     */
    adopt(
      owner: string,
      hosted: ReadonlyArray<Need>,
      limit: number
    ): Effect.Effect<ReadonlyArray<RunHead>, JournalError>

    /**
     * Releases a run that needs something that its owner at this epoch does not host, and wakes the other processes. Nothing is
     * appended. False = another owner has claimed the run. From then on:
     *
     * - Only a process that hosts all of `needs` recovers or adopts the run.
     * - The next claim removes the needs.
     * - An amendment removes those needs that the run no longer has.
     */
    handOver(
      run: RunId,
      epoch: number,
      needs: ReadonlyArray<Need>
    ): Effect.Effect<boolean, JournalError>

    /** Runs of a tenant in quarantine, the one found first at the start; at most `limit` (1 to 500). */
    quarantined(query: QuarantineQuery): Effect.Effect<ReadonlyArray<QuarantinedRun>, JournalError>

    /**
     * The stored rows of any run of the tenant, unchanged, starting at `from`; at most `limit` (up to 10,000). Missing rows are
     * left out. A run of another tenant is not found. SQL stores that have a tenant role also enforce this with row-level
     * security.
     */
    raw(
      tenant: Tenant,
      run: RunId,
      from: number,
      limit: number
    ): Effect.Effect<RawPage, RunNotFound | JournalError>

    /**
     * Folds a run in quarantine again. If it folds, it leaves quarantine and continues, and listeners of `onAmended` are woken;
     * otherwise the quarantine mark is updated with the place of the failure. A run that is not in quarantine stays as it is.
     */
    liftQuarantine(
      run: RunId,
      tenant: Tenant
    ): Effect.Effect<void, RunNotFound | RunQuarantined | JournalError>

    /**
     * Checks at most `limit` (1 to 1,000) runs that are not over, in the order of their ids, starting after `after`. A run with a
     * missing event is put in quarantine. If the record of an open question is missing or not pending, it is written again as it
     * was asked. Returns the last run that it checked, or undefined if there are no more.
     */
    audit(limit: number, after?: RunId): Effect.Effect<RunId | undefined, JournalError>

    /**
     * Calls back after each amendment of any run, in this process or another one, until the scope closes. It calls back with
     * undefined if it may have missed amendments of other processes, because it lost its connection for a while. If the claimant
     * claimed the run with the amendment, the claim is passed along.
     */
    onAmended(
      listener: AmendmentListener["onAmended"],
      claimant?: Claimant
    ): Effect.Effect<void, JournalError, Scope.Scope>

    /**
     * Passes the listener what this process has made durable, by any method, until the scope closes; never before it is durable,
     * and never what was rolled back. Entries of other processes are not passed, and those whose acknowledgement was lost may not
     * be. Entries of one run may arrive out of order.
     */
    onCommitted(listener: CommitListener): Effect.Effect<void, never, Scope.Scope>
  }
>()("troupe/services/RunJournal") {}

/** What a command returned for a run: its answer and its events. */
export interface Amended<A, E> {
  readonly answer: Result.Result<A, E>
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

/** How many entries of a run are read first. */
export const first_page = 16
/** A page of more UTF-16 units is followed by one of half as many entries, and any other by one of twice as many. */
const page_units = 1_000_000

/**
 * How many entries are read after this page, of which at most `limit` were read. A run may have many short entries, or a few of
 * several megabytes each.
 */
export const entriesAfter = (
  page: ReadonlyArray<JournalEntry>,
  limit: number,
  page_max: number
): number => {
  const units = page.reduce((sum, { event }) => sum + eventUnits(event), 0)
  return units > page_units ? Math.max(1, Math.floor(limit / 2)) : Math.min(limit * 2, page_max)
}

/**
 * Calls `visit` with every entry of a run, in order. At most `page_max` (up to 10,000) of them are read at a time, and fewer where
 * they are long.
 */
export const forEachEntry = (
  journal: Pick<RunJournal["Service"], "read">,
  run: RunId,
  page_max: number,
  visit: (entry: JournalEntry) => void
): Effect.Effect<void, RunQuarantined | JournalError> => {
  const readFrom = (
    from: number,
    limit: number
  ): Effect.Effect<void, RunQuarantined | JournalError> =>
    Effect.flatMap(journal.read(run, from, limit), (page) => {
      for (const entry of page) visit(entry)
      if (page.length < limit) return Effect.void
      return readFrom(from + page.length, entriesAfter(page, limit, page_max))
    })
  return readFrom(0, Math.min(first_page, page_max))
}
