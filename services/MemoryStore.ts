/**
 * Stores rows of memories, and the canonical texts that no row may copy. Owns rows, their chains and their index of words. It
 * does not classify, rank or compound: `AgentMemory` does, which alone writes to this store. A returned row never changes: after
 * it is counted, moved, superseded or undone, the store returns a new object for it.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentName, Tenant } from "../src/value/Ids.ts"
import type { ErasedMemories } from "../src/erasure/Erasure.ts"
import type { CanonicalText } from "../src/memory/CanonicalText.ts"
import type {
  MemoryId,
  MemoryRefused,
  MemoryRow,
  MemoryScope,
  MemoryTier,
  NewMemoryRow,
  Typology
} from "../src/memory/MemoryRow.ts"
import type { StoreError } from "./StoreError.ts"

/** The maximum number of rows in a scope, including superseded and undone ones. */
export const rows_max: Readonly<Record<MemoryTier, number>> = {
  interaction: 1_000,
  session: 5_000,
  persistent: 1_000_000
}
/** The maximum number of rows in a page. */
export const page_max = 500
/** The maximum number of scopes in one call. */
export const scopes_max = 8
/** The maximum number of canonical texts of one place. */
export const canonicals_max = 1_000
/**
 * The maximum numbers of candidates for a recall: the newest rows with each word, the newest rows of each scope whatever their
 * words, and all together.
 */
export const candidates_max = { of_word: 128, newest: 16, all: 64 } as const

/** The scopes that a call considers: those of the first 8 that belong to the tenant of the first one. */
export const ofOneTenant = (scopes: ReadonlyArray<MemoryScope>): ReadonlyArray<MemoryScope> =>
  scopes.slice(0, scopes_max).filter(({ tenant }) => tenant === scopes[0]?.tenant)

/** Identifies one row of an agent. */
export interface RowReference {
  /** Whose row it is. */
  readonly tenant: Tenant
  /** The agent that remembers. */
  readonly agent: AgentName
  /** The id of the row. */
  readonly id: MemoryId
}

/** Selects a page of rows. */
export interface MemoryPage {
  /** At most 500. */
  readonly limit: number
  /** The last row of the page before. */
  readonly after?: MemoryId | undefined
  /** Includes rows that are superseded or undone. */
  readonly all?: boolean
}

/** How many rows moved on and how many were removed. */
export interface Compounded {
  /** How many rows moved to the next tier. */
  readonly promoted: number
  /** How many rows were removed. */
  readonly dropped: number
}

/** A scope that ends, and what happens to its rows. */
export interface EndedScope {
  /** The scope that ends. */
  readonly from: MemoryScope
  /** The scope to which its lasting rows move. */
  readonly to: MemoryScope
  /**
   * Rows that move to `to`, each with the typology that it has there; at most 1,000. If `to` has room for fewer, only the first
   * ones move.
   */
  readonly promoted: ReadonlyArray<{ readonly id: MemoryId; readonly typology: Typology }>
  /** Rows of `to` with the same content as a row of `from`: each of them is counted once more. */
  readonly repeated: ReadonlyArray<MemoryId>
  /** The live rows of `from` that were considered. Rows that were added meanwhile stay. Absent = all rows were considered. */
  readonly seen?: ReadonlyArray<MemoryId>
}

/** A scope to which nothing has been written for a long time. */
export interface StaleScope {
  /** The scope. */
  readonly scope: MemoryScope
  /** The place of the address to which it belongs. */
  readonly place: string
  /** The conversation to which it belongs. */
  readonly session: string
}

/** The number of rows of a table in which a text stands; counted to 1,000. */
export interface FoundRows {
  /** The name of the table. */
  readonly table: string
  /** How many of its rows have the text. */
  readonly rows: number
}

/** The rows of memory of all agents, and texts of record. */
export class MemoryStore extends Context.Service<
  MemoryStore,
  {
    /**
     * Stores a row and returns it. If the agent has used the row's `key` before, the row with that key is returned. Refused are a
     * copy of a canonical text, a row for a full scope, and a row that supersedes something other than a live row of its scope.
     */
    add(row: NewMemoryRow): Effect.Effect<MemoryRow, MemoryRefused | StoreError>
    /** Counts a repetition of a row. Does nothing if there is no such row. */
    repeat(row: RowReference): Effect.Effect<void, StoreError>
    /** A row; undefined if the tenant's agent has no such row. */
    get(row: RowReference): Effect.Effect<MemoryRow | undefined, StoreError>
    /**
     * Live rows of up to 8 scopes for a ranking, in no particular order: those with the most and the rarest of up to 32 words,
     * and the newest ones. At most 64 by their words, and 16 for each scope by their age. `words` are those of `SearchWords`.
     * Scopes of another tenant than the first one's are ignored.
     */
    candidates(
      scopes: ReadonlyArray<MemoryScope>,
      words: ReadonlyArray<string>
    ): Effect.Effect<ReadonlyArray<MemoryRow>, StoreError>
    /** Rows of a scope, newest first. */
    list(scope: MemoryScope, page: MemoryPage): Effect.Effect<ReadonlyArray<MemoryRow>, StoreError>
    /**
     * Removes a row from the memory. The row that it superseded, if any, is valid again. Refused if there is no such row, or if
     * the row is superseded. A row that is already undone stays so.
     */
    undo(row: RowReference, by: string): Effect.Effect<MemoryRow, MemoryRefused | StoreError>
    /**
     * Ends a scope: promoted rows move as far as there is room, and all other rows that were considered are removed. Repeating
     * the call changes nothing more. Returns how many rows moved and how many were removed.
     */
    compound(ended: EndedScope): Effect.Effect<Compounded, StoreError>
    /** Runs that have rows in a conversation, the one unused for longest first; at most 100. */
    interactions(conversation: MemoryScope): Effect.Effect<ReadonlyArray<MemoryScope>, StoreError>
    /**
     * Scopes of a tier to which nothing was written since `before` (ms since 1970), oldest first; at most `limit` (500). Scopes
     * of runs that are not over, such as one that waits for a person, are left out.
     */
    stale(
      tier: MemoryTier,
      before: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<StaleScope>, StoreError>
    /** Removes persistent rows from before `before` (ms since 1970), oldest first; at most `limit` (1,000). Returns how many. */
    expire(before: number, limit: number): Effect.Effect<number, StoreError>
    /** Removes each row of the tenant that names the subject: as its subject, in its text or in an anchor. */
    erase(tenant: Tenant, subject: string): Effect.Effect<ErasedMemories, StoreError>
    /**
     * Registers a canonical text, or replaces the one with the same name. At most 1,000 texts for each place. Existing rows stay
     * as they are.
     */
    register(text: CanonicalText): Effect.Effect<void, MemoryRefused | StoreError>
    /** Removes a text of record, if there is one of this name at the place. */
    unregister(tenant: Tenant, place: string, name: string): Effect.Effect<void, StoreError>
    /** The canonical texts of a place, sorted by name. */
    canonicals(
      tenant: Tenant,
      place: string
    ): Effect.Effect<ReadonlyArray<CanonicalText>, StoreError>
  }
>()("troupe/services/MemoryStore") {}
