/**
 * The append-only list of what happened to each run, and the only place where it is written. Owns order, fencing and the
 * projections that commit with an event (approvals, task status, the answer in the conversation). Knows no agent, no
 * model and no tool. A run whose journal does not fold is put in quarantine by whoever finds it so: claim, read and amend
 * fail with RunQuarantined, nothing is appended to it, recovery and sweeps pass it by.
 */
import { Context, Effect, Metric, Result, Schema } from "effect"
import type { Exit, Scope } from "effect"
import { totalMetric } from "../src/TotalMetric.ts"
import type { Approval } from "../src/approval/Approval.ts"
import type { Address, ConversationId, MessageId, RunId, Tenant } from "../src/Ids.ts"
import { forEachPage } from "../src/Pages.ts"
import type { Need } from "../src/run/Needs.ts"
import type { QuarantinedRun, RawEvent, RunQuarantined } from "../src/run/Quarantine.ts"
import { foldWhole } from "../src/run/Quarantine.ts"
import { isReadable } from "../src/run/Readable.ts"
import type { Amendment, RunIsOver, RunNotFound } from "../src/run/RunCommand.ts"
import type { JournalEntry, RunAccepted, RunEvent } from "../src/run/RunEvent.ts"
import type { RunState, RunStatus } from "../src/run/RunState.ts"
import { fold } from "../src/run/RunState.ts"

/** The store did not answer, or refused for a cause of its own. `lost`: the append may have been written. */
export class JournalError extends Schema.TaggedError<JournalError>()("JournalError", {
  message: Schema.String,
  lost: Schema.Boolean
}) {}

/** Another owner has claimed the run: stop at once. */
export class FencedOff extends Schema.TaggedError<FencedOff>()("FencedOff", {
  run_id: Schema.String,
  epoch: Schema.Int
}) {}

/** The owner is right and the length is wrong: a command came first, or the acknowledgement of an append was lost. */
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
  /** The process that has it, while its lease lives; undefined if nobody does. */
  readonly owner: string | undefined
  /**
   * The run is parkable: only people can move it, by a decision, a cancel or an operator's result (`isParkable`). It may be
   * resident, with its actor in a process, or parked. It continues after an amendment.
   */
  readonly parkable: boolean
  /** Its journal does not fold: it is not continued, and later runs of its address wait. */
  readonly quarantined?: true
  /** What its last owner did not host (`Needs`): only a process that hosts all of it may claim it. Absent = not known. */
  readonly needs?: ReadonlyArray<Need>
}

export interface Claim {
  readonly head: RunHead
  /** Everything so far; the last event is this claim's `RunClaimed`. */
  readonly entries: ReadonlyArray<JournalEntry>
}

/** The run of an accepted task that a process begins by itself. */
export interface Beginning {
  readonly run: RunId
  readonly ordinal: number
  readonly accepted: RunAccepted
  /** The outbox message that dispatches the task, and the claim that holds it (`Accepted.held`). */
  readonly dispatch: { readonly id: MessageId; readonly claim: string }
}

/**
 * Who claims a run in the append of an amendment after which it has something to do. Asked before the amendment is durable,
 * and only for a run that was claimed before and that no other process has, or one that seems gone.
 */
export interface Claimant {
  readonly owner: string
  /** Is the run, of which this is the head after the amendment, to be claimed? Neither throws nor takes long. */
  readonly wants: (head: RunHead) => boolean
  /**
   * Is this other owner gone, as far as is known? Asked of the owner of a run that waited for people alone: nothing of it was
   * in flight, so that an owner who is there after all loses no work. Absent = only its lease tells.
   */
  readonly seemsGone?: (owner: string) => boolean
}

/** Who listens to amendments; `claim` is the claim that was made with the amendment, if it was for the own claimant. */
export interface AmendmentListener {
  readonly woken: (run: RunId | undefined, claim?: Claim) => void
  readonly claimant: Claimant | undefined
}

const mayTake = ({ owner, seemsGone }: Claimant, { owner: had }: RunHead, waited: boolean) =>
  had === undefined || had === owner || (waited && seemsGone?.(had) === true)

/**
 * The listener whose claimant takes the run, if the amendment left it to be continued by whoever claims it. `waited`: before
 * the amendment it waited for people alone.
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
    if (claimant.wants(head)) return listener
  }
  return undefined
}

/** Rows of a run's journal. */
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

/** Reports to operators, by log and metric, that a run was put in quarantine. Every journal does so once per run. */
export const announceQuarantine = (error: RunQuarantined): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(quarantined_total, { reason: error.reason }), 1),
    Effect.logError(`a run was put in quarantine: ${error.message}`).pipe(
      Effect.annotateLogs({ run_id: error.run_id, reason: error.reason, seq: error.seq })
    )
  )

/** Logs that the record of a question was missing, which only a change of the database from outside causes. */
export const announceLostRecord = ({ id, run_id }: Approval): Effect.Effect<void> =>
  Effect.annotateLogs(
    Effect.logError("the record of a question was lost; it is written again from the journal"),
    { approval: id, run_id }
  )

/** Entries of one run, in a row, that this process has appended. */
export interface Committed {
  readonly run: RunId
  /** The seq of the first. */
  readonly from: number
  /** At least 1. */
  readonly count: number
  /** The last of them ends the run. */
  readonly isEnd: boolean
  /** UTF-16 units that it keeps in memory; 0 where the store has the entries in memory anyway. */
  readonly size: number
  /** Exactly what `read` gives for them; undefined where `read` would fail. */
  entries(): ReadonlyArray<JournalEntry> | undefined
}

/** Neither of them may throw, and neither takes long: an append waits for them. */
export interface CommitListener {
  /** Are entries of the run wanted? Asked at each append. */
  readonly wants: (run: RunId) => boolean
  readonly take: (committed: Committed) => void
}

/** Durable when its Effect succeeds. A refusal changes nothing. */
export interface AppendEvents {
  (append: Append): Effect.Effect<void, StaleAppend | FencedOff | JournalError>
  /**
   * The same, but begun by the call itself and not when its Effect is run. A store that appends synchronously has appended
   * when it returns, and gives an Exit; for that the run's loop starts no fiber (bench row `step`). Absent = there is no
   * such way, as in a journal that wraps the appends of another.
   */
  readonly now?: (append: Append) => Effect.Effect<void, StaleAppend | FencedOff | JournalError>
}

export class RunJournal extends Context.Service<
  RunJournal,
  {
    /** Begins a run with `RunAccepted` at seq 0, epoch 0. True = it is new; false = it exists, and nothing was changed. */
    create(run: RunId, ordinal: number, accepted: RunAccepted): Effect.Effect<boolean, JournalError>

    /**
     * Creates a run and claims it for `owner` in one append, at epoch 1. The message that dispatches its task leaves the
     * outbox with it. Undefined = nothing was begun: the claim does not hold the message any more, or the run exists, and
     * then the message is removed.
     */
    begin(beginning: Beginning, owner: string): Effect.Effect<Claim | undefined, JournalError>

    /**
     * Takes the run for `owner`: appends `RunClaimed` at the next epoch, so that every older writer is refused. With
     * `seen`, the epoch at which the run was found to be free, it takes nothing that another has claimed since.
     */
    claim(
      run: RunId,
      owner: string,
      seen?: number
    ): Effect.Effect<Claim, RunNotFound | RunIsOver | RunQuarantined | FencedOff | JournalError>

    readonly append: AppendEvents

    /**
     * Runs `body` and appends what `record` makes of its exit, in one transaction behind the run's lock: the body's
     * writes and its event commit together. Where the exit is a failure the body's own writes are rolled back and the
     * events are still appended. At most 5 s; then the body is interrupted, and the exit says so.
     */
    transact<A, E, R>(
      run: RunId,
      fence: Fence,
      body: Effect.Effect<A, E, R>,
      record: (exit: Exit.Exit<A, E>) => Pick<Append, "events" | "status" | "parkable">
    ): Effect.Effect<void, StaleAppend | FencedOff | JournalError, R>

    /** At most `limit` (up to 10,000) entries from `from` on. Unknown runs are empty. */
    read(
      run: RunId,
      from: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<JournalEntry>, RunQuarantined | JournalError>
    /** As `read`, on behalf of a principal of this tenant: a run of another one is unknown, by the rights of the database too. */
    readFor(
      tenant: Tenant,
      run: RunId,
      from: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<JournalEntry>, RunQuarantined | JournalError>

    /**
     * A command from outside, on the run as it is: where it was written meanwhile, the command is called again with the new
     * state. `command` is pure, owns the state it is given and may change it; `now` is in ms since 1970. What it returns is
     * durable, and listeners of `amended` are woken after the commit, wherever they are; one of them may have the run claimed
     * with it. Where the codec could not read what it returns, nothing is written, and it fails with a JournalError that is
     * not lost.
     */
    amend<A, E>(
      run: RunId,
      command: (state: RunState, now: number) => Amendment<A, E>
    ): Effect.Effect<A, E | RunNotFound | RunQuarantined | JournalError>

    head(run: RunId): Effect.Effect<RunHead, RunNotFound | JournalError>

    /** Runs of a tenant's address that have not ended, by ordinal; at most `limit`. */
    unfinished(
      tenant: Tenant,
      address: Address,
      limit: number
    ): Effect.Effect<ReadonlyArray<RunHead>, JournalError>

    /** Extends the lease of the process `owner` to `lease_ms` from now. */
    beat(owner: string, lease_ms: number): Effect.Effect<void, JournalError>

    /** Ends the lease of `owner`: what it ran may be recovered at once. */
    release(owner: string): Effect.Effect<void, JournalError>

    /**
     * At most `limit` runs that `owner` should continue, tenants in turn, each with its oldest. They are those
     *
     * - that have not ended and are not parkable. A run that awaits a person and is not parkable is among them: other work than
     *   the question may have been in flight.
     * - whose owner has no lease, or is `owner` itself,
     * - whose agent and needs are all among `hosted`,
     * - that are the first of their tenant's address that has not ended.
     */
    recoverable(
      owner: string,
      hosted: ReadonlyArray<Need>,
      limit: number
    ): Effect.Effect<ReadonlyArray<RunHead>, JournalError>

    /**
     * Makes `owner` the owner of at most `limit` runs, tenants in turn, each with its oldest, and gives those that it took.
     * They are those
     *
     * - that are parkable,
     * - whose owner has no lease,
     * - whose agent and needs are all among `hosted`.
     *
     * It is not a claim: nothing is appended and no writer is fenced, because such a run has nothing to do until a person
     * answers.
     */
    adopt(
      owner: string,
      hosted: ReadonlyArray<Need>,
      limit: number
    ): Effect.Effect<ReadonlyArray<RunHead>, JournalError>

    /**
     * Gives up a run that needs what its owner at this epoch does not host, and wakes the other processes. Nothing is
     * appended. False = another owner has claimed the run. From then on:
     *
     * - Only a process that hosts all of `needs` recovers or adopts the run.
     * - The next claim removes the needs.
     * - An amendment removes those that the run no longer has.
     */
    handOver(
      run: RunId,
      epoch: number,
      needs: ReadonlyArray<Need>
    ): Effect.Effect<boolean, JournalError>

    /** Runs of a tenant in quarantine, first found first; at most `limit` (1 to 500). */
    quarantined(query: QuarantineQuery): Effect.Effect<ReadonlyArray<QuarantinedRun>, JournalError>

    /**
     * What is stored of any run of the tenant from `from` on, as it is stored; at most `limit` (up to 10,000). Missing rows are
     * absent. A run of another tenant is not found, by the rights of the database too.
     */
    raw(
      tenant: Tenant,
      run: RunId,
      from: number,
      limit: number
    ): Effect.Effect<RawPage, RunNotFound | JournalError>

    /**
     * Folds a run in quarantine again. If it folds, it is released and continues, and listeners of `amended` are woken;
     * otherwise the mark is updated with where it fails. A run that is not in quarantine is untouched.
     */
    readmit(
      run: RunId,
      tenant: Tenant
    ): Effect.Effect<void, RunNotFound | RunQuarantined | JournalError>

    /**
     * Checks runs that are not over, by id, from behind `after`; at most `limit` (1 to 1,000). A run with a missing event is
     * put in quarantine. For a run with open questions, a record that is missing or not pending is written again, as it was
     * asked. Gives the last run that it checked, or undefined where there are no more.
     */
    audit(limit: number, after?: RunId): Effect.Effect<RunId | undefined, JournalError>

    /**
     * Calls back after each amendment of any run, in this process or another one, until the scope closes; with undefined
     * where it may have missed some of others, because it lost its connection for a while. Where it is an amendment with
     * which the claimant has claimed the run, the claim comes with it.
     */
    amended(
      woken: AmendmentListener["woken"],
      claimant?: Claimant
    ): Effect.Effect<void, JournalError, Scope.Scope>

    /**
     * Gives the listener what this process has made durable, by whichever method, until the scope closes; never before it
     * is durable, and never what was rolled back. Entries may be left out: those of other processes, and those whose
     * acknowledgement was lost. Those of one run may come in another order than theirs.
     */
    committed(listener: CommitListener): Effect.Effect<void, never, Scope.Scope>
  }
>()("troupe/services/RunJournal") {}

/** What a command made of a run: its answer and its events. */
export interface Amended<A, E> {
  readonly answer: Result.Result<A, E>
  readonly events: ReadonlyArray<RunEvent>
  /** The state after them. */
  readonly after: RunState
}

/**
 * Gives a command the state of a run, whose entries are `entries`, of which there are to be `length`. Every journal amends
 * with it. Nothing of what fails is written.
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
    if (!isReadable(events)) return Result.fail(unreadableEvent)
    // The command may have changed the state that it was given: what counts is the fold of what is written.
    const after =
      events.length === 0 ? state : fold([...entries.map(({ event }) => event), ...events])
    return Result.succeed({ answer, events, after })
  })

/** Calls `visit` with every entry of a run, in order; at most `page_max` (up to 10,000) of them are read at a time. */
export const forEachEntry = (
  journal: Pick<RunJournal["Service"], "read">,
  run: RunId,
  page_max: number,
  visit: (entry: JournalEntry) => void
): Effect.Effect<void, RunQuarantined | JournalError> =>
  forEachPage(
    page_max,
    (last: JournalEntry | undefined) =>
      journal.read(run, last === undefined ? 0 : last.seq + 1, page_max),
    (page) => {
      for (const entry of page) visit(entry)
      return undefined
    }
  )
