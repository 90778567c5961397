/**
 * The memory of an address, which is the one way to write a memory: it classifies, refuses copies of canonical texts and
 * what came out of memory, counts what is told again, and passes on what outlives a run and a conversation.
 */
import { Context } from "effect"
import type { Effect, Scope } from "effect"
import type { Address, RunId, Tenant } from "../src/Ids.ts"
import type { AnchorKind } from "../src/memory/MemoryAnchors.ts"
import type { MemoryRefused } from "../src/memory/MemoryRefused.ts"
import type {
  MemoryId,
  MemoryRow,
  MemoryTier,
  MemoryOrigin,
  Typology
} from "../src/memory/MemoryRow.ts"
import type { RecalledLine } from "../src/memory/RecalledLines.ts"
import type { Compounded, MemoryPage } from "./MemoryStore.ts"
import type { StoreError } from "./StoreError.ts"

/** What is to be remembered. */
export interface Note {
  /** 1 to 4,000 characters. */
  readonly text: string
  /** Absent = `interaction`: what the run learns, which outlives it as `Compounding` says. */
  readonly tier?: MemoryTier
  /** Absent = the gateway classifies the text. */
  readonly typology?: Typology
  /** Whom or what it is about, for an erasure; at most 200 characters. */
  readonly subject?: string
  /**
   * A second note of the agent with this key is not written: for a handler that may see one event twice. Refused where the first
   * one is of another place, or below the persistent tier of another conversation.
   */
  readonly key?: string
  /** A row of the same tier that is no longer true, because of this note. */
  readonly supersedes?: MemoryId
}

export interface Remembered {
  readonly row: MemoryRow
  /** False: the memory had it already, and has counted it once more, or has a row of its key. */
  readonly isNew: boolean
}

/** Which memories a prompt needs. */
export interface RecallQuery {
  /** What it is about: the message, or the words to look for. */
  readonly text: string
  /** Tokens of the lines with their heading, as the tokenizer counts. */
  readonly tokens_max: number
  /** The run whose own notes count too. Absent = those of conversation and place alone. */
  readonly run?: RunId
}

export interface Recalled {
  /** Best first; at most 100. Frozen: whoever recalls a row is given the same line of it. */
  readonly lines: ReadonlyArray<RecalledLine>
  /** The lines under their heading, as a prompt shows them; empty of none. */
  readonly text: string
  readonly tokens: number
}

export class AgentMemory extends Context.Service<
  AgentMemory,
  {
    /** Durable when it returns, where the store is. Refused: see `MemoryRefused`. */
    remember(
      note: Note,
      origin: MemoryOrigin
    ): Effect.Effect<Remembered, MemoryRefused | StoreError>
    recall(query: RecallQuery): Effect.Effect<Recalled, StoreError>
    /** Newest first, at most 500. `run` names the interaction tier's run; without one that tier is empty. */
    list(
      tier: MemoryTier,
      page: MemoryPage,
      run?: RunId
    ): Effect.Effect<ReadonlyArray<MemoryRow>, StoreError>
    /** Takes a row of this address out of the memory, which then has the row that it superseded again. */
    undo(id: MemoryId, by: string): Effect.Effect<MemoryRow, MemoryRefused | StoreError>
    /** The run is over: what lasts goes on to the conversation, also of runs that died before; the rest is gone. */
    endRun(run: RunId): Effect.Effect<Compounded, StoreError>
    /** The conversation is over: what lasts goes on to its place; the rest is gone. */
    readonly endConversation: Effect.Effect<Compounded, StoreError>
  }
>()("troupe/services/AgentMemory") {}

/** The memories of all addresses. */
export class AgentMemories extends Context.Service<
  AgentMemories,
  {
    /** Built on first use; held until the scope closes. `kind`: what its persistent tier belongs to; `workspace` by default. */
    get(
      tenant: Tenant,
      address: Address,
      kind?: AnchorKind
    ): Effect.Effect<Context.Context<AgentMemory>, never, Scope.Scope>
  }
>()("troupe/services/AgentMemories") {}
