/**
 * Calls back where a run was amended, in any process, and where this process has made entries durable.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { RunId } from "../src/value/Ids.ts"
import type { JournalEntry } from "../src/run/RunEvent.ts"
import type { JournalError } from "./RunJournal.ts"
import type { Claim } from "./RunOwnership.ts"
import type { RunHead } from "./RunReader.ts"

/**
 * Claims a run in the same append as an amendment that gives the run something to do. It is asked before the amendment is
 * durable, and only for a run that was claimed before and whose owner is the claimant itself, is absent, or is probably dead.
 */
export interface Claimant {
  /** The name under which it claims. */
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
  /** Is called with the run, or undefined where several may have changed; `claim` if the run was claimed for it. */
  readonly onAmended: (run: RunId | undefined, claim?: Claim) => void
  /** Who claims the run for this listener. Undefined = it claims none. */
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

/** Consecutive entries of one run that this process has appended. */
export interface Committed {
  /** The run. */
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
  /** Is called with the entries, in their order. */
  readonly onCommitted: (committed: Committed) => void
}

/** Tells a process what was appended to journals, here and elsewhere. */
export class RunNews extends Context.Service<
  RunNews,
  {
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
>()("troupe/services/RunNews") {}
