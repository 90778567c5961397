/**
 * Actors and their runs. Owns which process runs an actor and what the actor does next; all state comes from the journal.
 * Every method decodes what it is given: a value that is not what its type says is `InvalidInput`, and nothing is done.
 */
import { Channel, Context, Effect, Schema, Stream } from "effect"
import type { Pull, Scope } from "effect"
import type { AgentNotFound } from "../src/agent/AgentSpec.ts"
import type {
  AddressConflict,
  AgentBusy,
  IdempotencyConflict,
  MailboxFull,
  MessageTooLarge,
  NestedTooDeep
} from "../src/delivery/AgentTask.ts"
import type { FileNotFound, FilesFull, FileTooLarge, GivenPart } from "../src/conversation/Part.ts"
import type { ConversationNotFound, InitiatedBy } from "../src/conversation/Conversation.ts"
import type { InvalidInput } from "../src/entry/InvalidInput.ts"
import type { Address, AgentName, CallId, ConversationId, FrameId, Tenant } from "../src/Ids.ts"
import { RunId } from "../src/Ids.ts"
import type { NotEntitled } from "../src/approval/Approval.ts"
import type { AnchorMismatch } from "../src/memory/MemoryAnchors.ts"
import type { Principal } from "../src/Principal.ts"
import type { AnswerSchema } from "../src/run/AnswerSchema.ts"
import type { Nesting } from "../src/run/Nesting.ts"
import type { RunContext } from "../src/run/RunContext.ts"
import type { RunQuarantined } from "../src/run/Quarantine.ts"
import type { CallNotUnknown, RunIsOver, RunNotFound, Settlement } from "../src/run/RunCommand.ts"
import type { JournalEntry } from "../src/run/RunEvent.ts"
import type { JournalError } from "./RunJournal.ts"
import type { StoreError } from "./StoreError.ts"
import type { Accepted } from "./TaskStore.ts"

/** The runtime is stopping and takes no new work. */
export class ShuttingDown extends Schema.TaggedError<ShuttingDown>()("ShuttingDown", {
  /** The run that a wait was for, which the stop does not end: whoever hosts it next goes on with it. Absent = no wait. */
  run: Schema.optionalKey(RunId)
}) {
  override get message(): string {
    return this.run === undefined
      ? "the runtime is stopping and takes no new work"
      : `the runtime is stopping, and run ${this.run} goes on when it is hosted again`
  }
}

export interface Message {
  /** In a conversation that began with another agent, it takes part beside that one, and holds the conversation from then on. */
  readonly agent: AgentName
  /**
   * Absent = a new conversation. For an agent whose memory belongs to operators it is `OPERATOR:TASK`, with the sender's id
   * first; to worlds, `WORLD:SESSION` or `WORLD@VERSION:SESSION`.
   */
  readonly conversation?: ConversationId | undefined
  /** 1 to 1,000,000 bytes of UTF-8, with the texts among its parts; may be empty where it has parts. */
  readonly text: string
  /** Images, audio and other files, and texts between them; 1 to 32, which stand after the text. Absent = none. */
  readonly parts?: ReadonlyArray<GivenPart> | undefined
  readonly idempotency_key?: string | undefined
  /** Absent = `api`. */
  readonly channel_origin?: string | undefined
  /** For a message that begins a conversation. Absent = `customer` where the sender is one, else `system`. */
  readonly initiated_by?: InitiatedBy | undefined
  /** The run around the message, which sends it through another system. Absent = there is none. */
  readonly nested?: Nesting | undefined
  /** JSON Schema of an object that the answer has to fit: an answer that does not is asked for once more, then the run fails. */
  readonly answer_schema?: AnswerSchema | undefined
  /** What the tools of the run are told, and its model is not: at most 16,384 characters of JSON. It fits what they declare. */
  readonly context?: RunContext | undefined
}

/** A position in a conversation: events up to and including this one were seen. `{ ordinal: 0, seq: -1 }` = none. */
export interface Cursor {
  readonly ordinal: number
  readonly seq: number
}

/**
 * What a watcher gets: journaled events, each with its cursor; pieces of the turn in progress and what calls show before
 * they end, which have none and go only to those who watch at that moment; and once `CaughtUp`: everything that was
 * journaled when the watch began has been given, and what follows happens from then on.
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
      /** 0 begins the turn anew: the watcher drops what it has of it. */
      readonly offset: number
    }
  | {
      readonly _tag: "Output"
      readonly run: RunId
      readonly ordinal: number
      readonly frame: FrameId
      readonly step: number
      readonly call: CallId
      /** What the call has so far, as JSON text; replaces what was shown of the call before. Cut at 16,384 bytes. */
      readonly text: string
    }
  | {
      readonly _tag: "CaughtUp"
      /** The last event that was given, or where the watch began. */
      readonly ordinal: number
      readonly seq: number
    }

export type FeedItems = readonly [FeedItem, ...Array<FeedItem>]

/** Why a watch fails. */
export type WatchError =
  | ConversationNotFound
  | InvalidInput
  | NotEntitled
  | RunQuarantined
  | ShuttingDown
  | StoreError
  | JournalError

/**
 * A watch for one reader, who needs no fiber while there is nothing to read: it takes what is here, and is called when there may
 * be more (bench rows `send` and `http`). It does one thing at a time.
 */
export interface OpenFeed<E, A = FeedItem, R = never> {
  /** Gives what there is, at least one item, and waits where there is nothing. Nothing is lost where it is interrupted. */
  readonly pull: Pull.Pull<readonly [A, ...Array<A>], E, void, R>
  /** What is here already. `wait`: nothing is. `pull`: only `pull` tells, because the journal is to be read. */
  readonly takeHere: () => readonly [A, ...Array<A>] | "wait" | "pull"
  /**
   * After `wait`: calls back once, when there may be something, and at once where it has come since; not after the scope of the
   * watch has closed. A later call replaces the callback. The callback must not throw: it runs where something is committed.
   */
  readonly whenDue: (callback: () => void) => void
}

/** A stream as an open feed. Nothing of it is here before it is pulled. */
export const openStream = <A, E, R>(
  stream: Stream.Stream<A, E, R>
): Effect.Effect<OpenFeed<E, A, R>, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    // `Stream.toPull` would take a permit and merge contexts for each pull.
    const pull = yield* Channel.toPullScoped(Stream.toChannel(stream), yield* Effect.scope)
    return { pull, takeHere: () => "pull", whenDue: (callback) => callback() }
  })

/** The same watch as a stream. */
export const feedStream = <E, E2, R>(
  open: Effect.Effect<OpenFeed<E>, E2, R | Scope.Scope>
): Stream.Stream<FeedItem, E | E2, Exclude<R, Scope.Scope>> =>
  Stream.scoped(Stream.fromPull(Effect.map(open, ({ pull }) => pull)))

export interface ActorInfo {
  readonly tenant: Tenant
  readonly address: Address
  /**
   * `running`: it has claimed a run, which is at work or waits for a person; `idle`: it has none; `parked`: only the record of a
   * question waits for a person, and the process has nothing else of the run; `stopped`: it crashed too often.
   */
  readonly state: "running" | "idle" | "parked" | "stopped"
  readonly run: RunId | undefined
  readonly restarts: number
}

export class AgentRuntime extends Context.Service<
  AgentRuntime,
  {
    /**
     * Accepts a message: durable when it returns, handled after. A customer can only name a conversation that it began.
     * The caller limits which agents a customer may write to, and what it is shown of its own runs (`CustomerView`).
     */
    send(
      message: Message,
      by: Principal
    ): Effect.Effect<
      Accepted,
      | AgentNotFound
      | FileNotFound
      | FilesFull
      | FileTooLarge
      | MessageTooLarge
      | NestedTooDeep
      | MailboxFull
      | AgentBusy
      | IdempotencyConflict
      | AddressConflict
      | AnchorMismatch
      | ConversationNotFound
      | InvalidInput
      | NotEntitled
      | ShuttingDown
      | StoreError
    >
    /**
     * The agent that holds a conversation of the principal's tenant: the one that it was handed over to, or else that was sent
     * its last message. Fails for a customer that did not begin the conversation.
     */
    holder(
      conversation: ConversationId,
      by: Principal
    ): Effect.Effect<
      AgentName,
      ConversationNotFound | InvalidInput | NotEntitled | StoreError | JournalError
    >
    /**
     * Events of a conversation of the principal's tenant after the cursor, then those to come; never ends by itself, and fails
     * with ShuttingDown when the runtime has stopped. The same id at another tenant is another conversation. Fails for a
     * customer that did not begin the conversation, with InvalidInput where the cursor is in a run that the conversation has not
     * accepted, and with StoreError where a run is removed before it was given to its end. Where the run at the cursor is not
     * over and has no such event, all of its events are given. A cursor stays valid when retention has removed its run.
     */
    watch(
      conversation: ConversationId,
      after: Cursor,
      by: Principal
    ): Stream.Stream<FeedItem, WatchError>
    /** As `watch`, without a stream; until the scope closes. */
    openFeed(
      conversation: ConversationId,
      after: Cursor,
      by: Principal
    ): Effect.Effect<OpenFeed<WatchError>, WatchError, Scope.Scope>
    /**
     * Cancels a run and closes its questions: durable when it returns. For operators, and for the customer that sent the
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
    /** Settles a call whose outcome is unknown; for operators. Durable when it returns. */
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
     * Actors that this process knows, those in memory first; at most `limit` (1 to 100,000). Absent tenant = of all
     * tenants.
     */
    actors(limit: number, tenant?: Tenant): Effect.Effect<ReadonlyArray<ActorInfo>, InvalidInput>
  }
>()("troupe/services/AgentRuntime") {}
