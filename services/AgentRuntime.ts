/**
 * Actors and their runs. Owns who lives where and what happens next; everything it knows comes from the journal. Every
 * method decodes what it is given: a value that is not what its type says is `InvalidInput`, and nothing is done.
 */
import { Context, Schema } from "effect"
import type { Effect, Stream } from "effect"
import type { AgentNotFound } from "../src/agent/AgentSpec.ts"
import type {
  AddressConflict,
  AgentBusy,
  IdempotencyConflict,
  MailboxFull,
  MessageTooLarge
} from "../src/delivery/AgentTask.ts"
import type { ConversationNotFound, InitiatedBy } from "../src/conversation/Conversation.ts"
import type { InvalidInput } from "../src/entry/InvalidInput.ts"
import type {
  Address,
  AgentName,
  CallId,
  ConversationId,
  FrameId,
  RunId,
  Tenant
} from "../src/Ids.ts"
import type { NotEntitled } from "../src/approval/Approval.ts"
import type { Principal } from "../src/Principal.ts"
import type { RunQuarantined } from "../src/run/Quarantine.ts"
import type { CallNotUnknown, RunIsOver, RunNotFound, Settlement } from "../src/run/RunCommand.ts"
import type { JournalEntry } from "../src/run/RunEvent.ts"
import type { JournalError } from "./RunJournal.ts"
import type { StoreError } from "./StoreError.ts"
import type { Accepted } from "./TaskStore.ts"

/** The runtime is stopping and takes no new work. */
export class ShuttingDown extends Schema.TaggedError<ShuttingDown>()("ShuttingDown", {}) {
  override get message(): string {
    return "the runtime is stopping and takes no new work"
  }
}

export interface Message {
  readonly agent: AgentName
  /** Absent = a new conversation. */
  readonly conversation?: ConversationId | undefined
  /** 1 to 1,000,000 bytes of UTF-8. */
  readonly text: string
  readonly idempotency_key?: string | undefined
  /** Absent = `api`. */
  readonly channel_origin?: string | undefined
  /** Of a message that begins a conversation. Absent = `customer` where the sender is one, else `system`. */
  readonly initiated_by?: InitiatedBy | undefined
}

/** A place in a conversation: events up to and including this one were seen. `{ ordinal: 0, seq: -1 }` = none. */
export interface Cursor {
  readonly ordinal: number
  readonly seq: number
}

/**
 * What a watcher gets: journaled events under a cursor; without one, pieces of the turn in progress, and what calls show
 * before they end, which only those who watch just then are given; and once `CaughtUp`, which says that the past is over:
 * what was journaled when the watch began has been given, and what follows happens from here on.
 */
export type FeedItem =
  | {
      readonly _tag: "Event"
      readonly run: RunId
      readonly ordinal: number
      readonly entry: JournalEntry
    }
  | {
      readonly _tag: "Delta"
      readonly run: RunId
      readonly ordinal: number
      readonly frame: FrameId
      readonly step: number
      readonly kind: "text" | "reasoning"
      readonly text: string
      /** 0 begins the turn anew: what came before for this turn is to be dropped. */
      readonly offset: number
    }
  | {
      readonly _tag: "Output"
      readonly run: RunId
      readonly ordinal: number
      readonly frame: FrameId
      readonly step: number
      readonly call: CallId
      /** What the call has so far, as JSON text: it takes the place of what was shown of it before. Cut at 16,384 bytes. */
      readonly text: string
    }
  | {
      readonly _tag: "CaughtUp"
      /** The last event that was given, or where the watch began. */
      readonly ordinal: number
      readonly seq: number
    }

export interface ActorInfo {
  readonly tenant: Tenant
  readonly address: Address
  /** `running`: a fiber works; `parked`: only a record waits for a person; `stopped`: it crashed too often. */
  readonly state: "running" | "idle" | "parked" | "stopped"
  readonly run: RunId | undefined
  readonly restarts: number
}

export class AgentRuntime extends Context.Service<
  AgentRuntime,
  {
    /**
     * Accepts a message: durable when it returns, handled after. A customer names no conversation but one that it began;
     * with which agents it speaks is for whoever lets it in to say, as is what it is shown of its own (`CustomerView`).
     */
    send(
      message: Message,
      by: Principal
    ): Effect.Effect<
      Accepted,
      | AgentNotFound
      | MessageTooLarge
      | MailboxFull
      | AgentBusy
      | IdempotencyConflict
      | AddressConflict
      | ConversationNotFound
      | InvalidInput
      | NotEntitled
      | ShuttingDown
      | StoreError
    >
    /**
     * Events of a conversation of the principal's tenant after the cursor, then those to come; never ends by itself. What
     * another tenant has under the same id is another conversation, and one that a customer did not begin is none for it.
     */
    watch(
      conversation: ConversationId,
      after: Cursor,
      by: Principal
    ): Stream.Stream<
      FeedItem,
      ConversationNotFound | InvalidInput | NotEntitled | RunQuarantined | StoreError | JournalError
    >
    /**
     * Cancels a run: journaled when it returns; its questions are closed. For operators, and for a customer that sent its
     * message. The reason has 1 to 4,000 characters.
     */
    interrupt(
      run: RunId,
      by: Principal,
      reason: string
    ): Effect.Effect<
      void,
      InvalidInput | NotEntitled | RunNotFound | RunIsOver | RunQuarantined | JournalError
    >
    /** Says what became of a call whose outcome is unknown; for operators. */
    settle(
      run: RunId,
      call: CallId,
      settlement: Settlement,
      by: Principal
    ): Effect.Effect<
      void,
      | InvalidInput
      | NotEntitled
      | RunNotFound
      | RunIsOver
      | RunQuarantined
      | CallNotUnknown
      | JournalError
    >
    /**
     * Actors known to this process, those with a fiber first; at most `limit` (1 to 100,000). Absent tenant = of all of
     * them.
     */
    actors(limit: number, tenant?: Tenant): Effect.Effect<ReadonlyArray<ActorInfo>, InvalidInput>
  }
>()("troupe/services/AgentRuntime") {}
