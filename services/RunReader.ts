/**
 * Reads what is written of runs: their entries, and their heads. Owns nothing.
 */
import { Context, Effect } from "effect"
import type { Address, ConversationId, RunId, Tenant } from "../src/value/Ids.ts"
import type { Need } from "../src/run/Needs.ts"
import { eventUnits } from "../src/run/HeldUnits.ts"
import type { RunQuarantined } from "../src/run/Quarantine.ts"
import type { RunNotFound } from "../src/run/RunCommand.ts"
import type { JournalEntry } from "../src/run/RunEvent.ts"
import type { RunStatus } from "../src/run/RunState.ts"
import type { JournalError } from "./RunJournal.ts"

/** Where a run stands, without its events. */
export interface RunHead {
  /** The id of the run. */
  readonly run_id: RunId
  /** Whose run it is. */
  readonly tenant: Tenant
  /** The actor that handles it. */
  readonly address: Address
  /** The conversation that it is in. */
  readonly conversation: ConversationId
  /** Its number in the conversation, from 1. */
  readonly ordinal: number
  /** Whether it is at work, waits or has ended. */
  readonly status: RunStatus
  /** How many owners it has had. */
  readonly epoch: number
  /** How many events it has. */
  readonly length: number
  /** When its message was accepted, in ms since 1970. */
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

/** Reads the journals of runs. */
export class RunReader extends Context.Service<
  RunReader,
  {
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

    /** Where the run stands. Fails with RunNotFound if there is none. */
    head(run: RunId): Effect.Effect<RunHead, RunNotFound | JournalError>

    /** Runs of a tenant's address that have not ended, ordered by ordinal; at most `limit`. */
    unfinished(
      tenant: Tenant,
      address: Address,
      limit: number
    ): Effect.Effect<ReadonlyArray<RunHead>, JournalError>
  }
>()("troupe/services/RunReader") {}

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
  reader: Pick<RunReader["Service"], "read">,
  run: RunId,
  page_max: number,
  visit: (entry: JournalEntry) => void
): Effect.Effect<void, RunQuarantined | JournalError> => {
  const readFrom = (
    from: number,
    limit: number
  ): Effect.Effect<void, RunQuarantined | JournalError> =>
    Effect.flatMap(reader.read(run, from, limit), (page) => {
      for (const entry of page) visit(entry)
      if (page.length < limit) return Effect.void
      return readFrom(from + page.length, entriesAfter(page, limit, page_max))
    })
  return readFrom(0, Math.min(first_page, page_max))
}

/** All entries of a run and how many UTF-16 units they have in all; no entries where that is more than `units_max`. */
export const entriesWithin = (
  reader: Pick<RunReader["Service"], "read">,
  run: RunId,
  units_max: number
): Effect.Effect<
  { readonly units: number; readonly entries: ReadonlyArray<JournalEntry> },
  RunQuarantined | JournalError
> =>
  Effect.suspend(() => {
    const entries: Array<JournalEntry> = []
    let units = 0
    const visited = forEachEntry(reader, run, 10_000, (entry) => {
      units += eventUnits(entry.event)
      if (units <= units_max) entries.push(entry)
      else entries.length = 0
    })
    return Effect.map(visited, () => ({ units, entries }))
  })
