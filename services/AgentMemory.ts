/**
 * The memory of an address, and the only way to write a memory. It classifies notes, refuses copies of canonical texts and of
 * text that came out of memory, counts repeated notes, and moves what outlives a run or a conversation to the next tier.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { Address, RunId, Tenant } from "../src/value/Ids.ts"
import type { AnchorKind } from "../src/memory/MemoryAnchors.ts"
import type {
  MemoryId,
  MemoryOrigin,
  MemoryRefused,
  MemoryRow,
  MemoryTier,
  Typology
} from "../src/memory/MemoryRow.ts"
import type { RecalledLine } from "../src/memory/RecalledLines.ts"
import type { Compounded, MemoryPage } from "./MemoryStore.ts"
import type { StoreError } from "./StoreError.ts"

/** A note to store in the memory. */
export interface Note {
  /** 1 to 4,000 characters. */
  readonly text: string
  /** Absent = `interaction`: something that the run learned. `Compounding` decides which of these rows outlive the run. */
  readonly tier?: MemoryTier
  /** Absent = the gateway classifies the text. */
  readonly typology?: Typology
  /** The person or thing that the note is about, by which an erasure finds it; at most 200 characters. */
  readonly subject?: string
  /**
   * An idempotency key, for a handler that may see one event twice: a second note of the agent with the same key is not written.
   * It is refused where the first note belongs to another place or, below the persistent tier, to another conversation.
   */
  readonly key?: string
  /**
   * A row that this note replaces, because it is no longer true. The note belongs to the row's tier, and to its subject unless it
   * names another. Other rows of the address that say the same as the row get the note as their successor, too.
   */
  readonly supersedes?: MemoryId
}

/** What became of something to remember. */
export interface Remembered {
  /** The row as it is stored. */
  readonly row: MemoryRow
  /**
   * False = no row was added: the memory already had this note and has counted it once more, or it has a row with the note's key.
   */
  readonly isNew: boolean
  /** The row that the note has replaced. Absent = it named none. */
  readonly superseded?: MemoryRow
}

/** Which memories a prompt needs. */
export interface RecallQuery {
  /** The text to find memories for: the message, or the words to look for. */
  readonly text: string
  /** The most tokens that the lines and their heading may have together, as the tokenizer counts them. */
  readonly tokens_max: number
  /** The run whose own notes are searched too. Absent = only those of the conversation and its place. */
  readonly run?: RunId
}

/** What an agent remembers of a query. */
export interface Recalled {
  /** Best match first; at most 100. The lines are frozen, because every recall of a row returns the same line object. */
  readonly lines: ReadonlyArray<RecalledLine>
  /** The lines under their heading, as a prompt shows them; empty if there are no lines. */
  readonly text: string
  /** How many tokens `text` has. */
  readonly tokens: number
}

/** The memory of one actor: what it remembers, recalls and takes back. */
export class AgentMemory extends Context.Service<
  AgentMemory,
  {
    /** Stores a note. It is durable on return if the store is durable. `MemoryRefused` lists the reasons for a refusal. */
    remember(
      note: Note,
      origin: MemoryOrigin
    ): Effect.Effect<Remembered, MemoryRefused | StoreError>
    /** The rows that fit the query best, within its tokens. Empty if none fits. */
    recall(query: RecallQuery): Effect.Effect<Recalled, StoreError>
    /** A row of this address; undefined if it has none with this id. */
    get(id: MemoryId): Effect.Effect<MemoryRow | undefined, StoreError>
    /** Newest first, at most 500. `run` names the interaction tier's run; without one that tier is empty. */
    list(
      tier: MemoryTier,
      page: MemoryPage,
      run?: RunId
    ): Effect.Effect<ReadonlyArray<MemoryRow>, StoreError>
    /** Removes a row of this address from the memory. The row that it superseded, if any, is valid again. */
    undo(id: MemoryId, by: string): Effect.Effect<MemoryRow, MemoryRefused | StoreError>
    /** Ends a run. Its lasting memories, and those of runs that died earlier, move to the conversation; the rest is removed. */
    endRun(run: RunId): Effect.Effect<Compounded, StoreError>
    /** Ends the conversation. Its lasting memories move to its place; the rest is removed. */
    readonly endConversation: Effect.Effect<Compounded, StoreError>
  }
>()("troupe/services/AgentMemory") {}

/** The memories of all addresses. */
export class AgentMemories extends Context.Service<
  AgentMemories,
  {
    /**
     * The memory of an address. It is built on first use and kept until the scope closes. `kind` says what its persistent tier
     * belongs to; `workspace` by default.
     */
    get(
      tenant: Tenant,
      address: Address,
      kind?: AnchorKind
    ): Effect.Effect<Context.Context<AgentMemory>, never, Scope.Scope>
  }
>()("troupe/services/AgentMemories") {}
