/**
 * Which process continues which run. A process keeps a lease and claims runs; a claim fences every older writer. Knows nothing of
 * what a run does.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentName, MessageId, RunId } from "../src/value/Ids.ts"
import type { Need } from "../src/run/Needs.ts"
import type { RunQuarantined } from "../src/run/Quarantine.ts"
import type { RunIsOver, RunNotFound } from "../src/run/RunCommand.ts"
import type { JournalEntry, RunAccepted } from "../src/run/RunEvent.ts"
import type { FencedOff, JournalError } from "./RunJournal.ts"
import type { RunHead } from "./RunReader.ts"

/** A run that this process owns from now on. */
export interface Claim {
  /** Where the run stands. */
  readonly head: RunHead
  /**
   * All entries so far; the last one is this claim's `RunClaimed`. They are for the fold: in a long journal a long result may be the
   * model's copy of it (`CallResult.ts`).
   */
  readonly entries: ReadonlyArray<JournalEntry>
}

/** The run of an accepted task, for a process that begins the run itself. */
export interface Beginning {
  /** The id of the run. */
  readonly run: RunId
  /** Its number in its conversation, from 1. */
  readonly ordinal: number
  /** Its first event. */
  readonly accepted: RunAccepted
  /** The outbox message that dispatches the task, and the claim that holds it (`Accepted.held`). */
  readonly dispatch: {
    /** The id of the message. */
    readonly id: MessageId
    /** The name of the claim's owner. */
    readonly claim: string
  }
}

/** Somebody who holds work, such as the runtime of a process, and lives by what the store knows. Names no tenant. */
export interface Owner {
  /** Its name. Its claims are named `<owner>.<n>`. */
  readonly owner: string
  /** When it registered, in ms since 1970, by the store's clock. */
  readonly since: number
  /** When it last extended its lease. Absent = it has none, but a lock in a session. */
  readonly seen_at?: number | undefined
  /** When its lease ends, unless it extends it. Absent = it has none. */
  readonly lease_until?: number | undefined
  /** Whether it also holds a lock, by which others know at once that it is gone. */
  readonly guarded: boolean
  /** What it hosts. */
  readonly hosted: ReadonlyArray<Need>
}

/** Which process has a run: one at a time, which the epoch counts. */
export class RunOwnership extends Context.Service<
  RunOwnership,
  {
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

    /** Extends the lease of the process `owner` to `lease_ms` from now. */
    heartbeat(owner: string, lease_ms: number): Effect.Effect<void, JournalError>

    /** Ends the lease of `owner`: other processes may recover its runs at once. */
    release(owner: string): Effect.Effect<void, JournalError>

    /** Owners that live, the newest first; at most `limit` (up to 500). */
    owners(limit: number): Effect.Effect<ReadonlyArray<Owner>, JournalError>

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
     * As `recoverable`, of these agents, for runs that are not the first of their address because the first one waits for people:
     * the next one behind it, which may answer beside it (`mailbox: "answer"`).
     */
    answerable(
      owner: string,
      agents: ReadonlyArray<AgentName>,
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
  }
>()("troupe/services/RunOwnership") {}
