/**
 * Gives listeners the entries that this process has committed. They are decoded from the stored text, exactly as a reader of the
 * journal would get them, and only for runs that a listener accepts. Private to this room.
 */
import { Effect } from "effect"
import type { Scope } from "effect"
import type { CommitListener } from "../../../services/RunNews.ts"
import type { Claim } from "../../../services/RunOwnership.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { mayEndWait } from "../../../src/run/RunEvent.ts"
import type { EncodedAppend } from "./AppendStatement.ts"
import { eventIn } from "./RunRows.ts"
import { listenIn } from "../../../src/value/Listeners.ts"

/** Events that a statement has stored, as types and JSON texts. `from` is the seq of the first. */
export interface Stored {
  readonly run: RunId
  readonly from: number
  /** ms since 1970. */
  readonly at: number
  readonly events: ReadonlyArray<{ readonly type: string; readonly payload: string }>
}

const decoded = ({ at, events, from }: Stored): ReadonlyArray<JournalEntry> | undefined => {
  const entries: Array<JournalEntry> = []
  for (const { payload } of events) {
    const event = eventIn(payload)
    if (event === undefined) return undefined
    entries.push({ seq: from + entries.length, at, event })
  }
  return entries
}

export class CommitListeners {
  readonly #listeners = new Set<CommitListener>()

  /**
   * Gives the entries to the listeners that want the run; to be called after the commit. They are decoded when one first asks,
   * once for all.
   */
  publish(stored: Stored): void {
    const { events, from, run } = stored
    let entries: ReadonlyArray<JournalEntry> | undefined
    for (const listener of this.#listeners) {
      if (!listener.accepts(run)) continue
      listener.onCommitted({
        run,
        from,
        count: events.length,
        isEnd: events.at(-1)?.type === "RunEnded",
        mayEndWait: events.some(({ type }) => mayEndWait(type)),
        size: events.reduce((size, { payload }) => size + payload.length, 0),
        entries: () => (entries ??= decoded(stored))
      })
    }
  }

  /** Call it after the commit. */
  publishAppend({ append, at, events }: EncodedAppend): void {
    this.publish({ run: append.run, from: append.fence.length, at, events })
  }

  /** Gives listeners the claim's `RunClaimed`, the only new one of its entries; to be called after the commit. */
  publishClaim({ entries, head: { run_id: run } }: Claim): void {
    const last = entries.at(-1)
    if (last === undefined) return
    for (const listener of this.#listeners) {
      if (!listener.accepts(run)) continue
      const entry = { run, from: last.seq, count: 1, isEnd: false, mayEndWait: false, size: 0 }
      listener.onCommitted({ ...entry, entries: () => [last] })
    }
  }

  /** Registers the listener until the scope closes. */
  listen(listener: CommitListener): Effect.Effect<void, never, Scope.Scope> {
    return listenIn(this.#listeners, listener)
  }
}
