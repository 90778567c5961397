/**
 * Rows of memories, and the canonical texts that no row may copy. Owns rows, their chains and their index of words; it
 * does not classify, rank or compound: that is the gateway's (`AgentMemory`), which alone writes here. A row that it gave stays as it
 * is: of one that was counted, moved, superseded or undone it gives another object.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentName, Tenant } from "../src/Ids.ts"
import type { CanonicalText } from "../src/memory/CanonicalText.ts"
import type { MemoryRefused } from "../src/memory/MemoryRefused.ts"
import type {
  MemoryId,
  MemoryRow,
  MemoryScope,
  MemoryTier,
  NewMemoryRow,
  Typology
} from "../src/memory/MemoryRow.ts"
import type { StoreError } from "./StoreError.ts"

/** Rows that a scope may hold, superseded and undone ones included. */
export const rows_max: Readonly<Record<MemoryTier, number>> = {
  interaction: 1_000,
  session: 5_000,
  persistent: 1_000_000
}
/** Rows of a page. */
export const page_max = 500
/** Scopes of one call. */
export const scopes_max = 8
/** Canonical texts of one place. */
export const canonicals_max = 1_000
/** Candidates of a recall: the newest rows with each word, and the newest of each scope, whatever their words are. */
export const candidates_max = { of_word: 128, newest: 16, all: 64 } as const

/** The scopes of one call: of the first 8 those that are of the first one's tenant. */
export const ofOneTenant = (scopes: ReadonlyArray<MemoryScope>): ReadonlyArray<MemoryScope> =>
  scopes.slice(0, scopes_max).filter(({ tenant }) => tenant === scopes[0]?.tenant)

/** One row of an agent. */
export interface MemoryPlace {
  readonly tenant: Tenant
  readonly agent: AgentName
  readonly id: MemoryId
}

export interface MemoryPage {
  /** At most 500. */
  readonly limit: number
  /** The last row of the page before. */
  readonly after?: MemoryId | undefined
  /** With rows that are superseded or undone. */
  readonly all?: boolean
}

/** Rows that went on and rows that are gone. */
export interface Compounded {
  readonly promoted: number
  readonly dropped: number
}

/** A scope that ends, and what becomes of its rows. */
export interface EndedScope {
  readonly from: MemoryScope
  readonly to: MemoryScope
  /**
   * Rows that go on to `to`, of the kind that they have there; at most 1,000. Where `to` has room for fewer, the first of
   * them go on.
   */
  readonly promoted: ReadonlyArray<{ readonly id: MemoryId; readonly typology: Typology }>
  /** Rows of `to` that say the same as a row of `from` did: each is counted once more. */
  readonly repeated: ReadonlyArray<MemoryId>
  /** The live rows of `from` that were looked at: others came in meanwhile, and stay. Absent = all of them were. */
  readonly seen?: ReadonlyArray<MemoryId>
}

/** A scope in which nothing was written for long. */
export interface StaleScope {
  readonly scope: MemoryScope
  readonly place: string
  readonly session: string
}

/** In how many rows of a table a text stands; at most 1,000 are counted. */
export interface FoundRows {
  readonly table: string
  readonly rows: number
}

/** What an erasure removed, and what it found when it looked again. */
export interface Erasure {
  readonly subject: string
  /** Rows that were removed, by tier. */
  readonly erased: Readonly<Record<MemoryTier, number>>
  /**
   * Each table, and in how many rows of the tenant the subject's text still stands in any column: within a longer word too,
   * and however often it was written as JSON. Of memories only such longer words are left; others belong to the journal and to
   * deliveries.
   */
  readonly scanned: ReadonlyArray<FoundRows>
}

export class MemoryStore extends Context.Service<
  MemoryStore,
  {
    /**
     * Stores a row, and gives it. A row whose `key` its agent has used gives the row of that key. Refused: a copy of a
     * canonical text, a row in a full scope, and one that supersedes what is not a live row of its scope.
     */
    add(row: NewMemoryRow): Effect.Effect<MemoryRow, MemoryRefused | StoreError>
    /** Counts a repetition of a row. Without effect where there is no such row. */
    repeat(place: MemoryPlace): Effect.Effect<void, StoreError>
    /** Undefined where the tenant's agent has no such row. */
    get(place: MemoryPlace): Effect.Effect<MemoryRow | undefined, StoreError>
    /**
     * Live rows of up to 8 scopes to be ranked, in no order: those with the most and the rarest of up to 12 words, and the
     * newest ones. At most 64 by their words and 16 a scope by their age. `words` are those of `SearchWords`. Scopes of
     * another tenant than the first one's are left out.
     */
    candidates(
      scopes: ReadonlyArray<MemoryScope>,
      words: ReadonlyArray<string>
    ): Effect.Effect<ReadonlyArray<MemoryRow>, StoreError>
    /** Newest first. */
    list(scope: MemoryScope, page: MemoryPage): Effect.Effect<ReadonlyArray<MemoryRow>, StoreError>
    /**
     * Takes a row out of the memory, which then has the row that it superseded again. Refused where there is no such row,
     * or it is superseded; a row that is undone stays so.
     */
    undo(place: MemoryPlace, by: string): Effect.Effect<MemoryRow, MemoryRefused | StoreError>
    /**
     * Ends a scope: promoted rows move on as far as there is room, all others that were seen are removed. Once it has ended, the same again
     * changes nothing. Gives how many rows moved and how many are gone.
     */
    compound(ended: EndedScope): Effect.Effect<Compounded, StoreError>
    /** Runs that have rows in a conversation, the longest unused first; at most 100. */
    interactions(conversation: MemoryScope): Effect.Effect<ReadonlyArray<MemoryScope>, StoreError>
    /**
     * Scopes of a tier in which nothing was written since `before` (ms since 1970), the oldest first; at most `limit` (500). Those
     * of runs that are not over, such as one that waits for a person, are left out.
     */
    stale(
      tier: MemoryTier,
      before: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<StaleScope>, StoreError>
    /** Removes persistent rows from before `before` (ms since 1970), the oldest first; at most `limit` (1,000). */
    expire(before: number, limit: number): Effect.Effect<number, StoreError>
    /** Removes each row of the tenant that names the subject, as its subject, in its text or in an anchor. */
    erase(tenant: Tenant, subject: string): Effect.Effect<Erasure, StoreError>
    /** Registers a canonical text, or replaces the one of its name. At most 1,000 of a place. Rows stay as they are. */
    register(text: CanonicalText): Effect.Effect<void, MemoryRefused | StoreError>
    unregister(tenant: Tenant, place: string, name: string): Effect.Effect<void, StoreError>
    /** By name. */
    canonicals(
      tenant: Tenant,
      place: string
    ): Effect.Effect<ReadonlyArray<CanonicalText>, StoreError>
  }
>()("troupe/services/MemoryStore") {}
