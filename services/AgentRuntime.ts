/**
 * Actors and their runs. Owns which process runs an actor and what the actor does next; all state comes from the journal. Every
 * method decodes its arguments first: a value that does not match its type fails with `InvalidInput`, and nothing is done.
 */
import { Channel, Context, Effect, Schema, Stream } from "effect"
import type { Pull, Scope } from "effect"
import type { AgentNotFound } from "../src/agent/AgentSpec.ts"
import type {
  AddressConflict,
  AgentBusy,
  IdempotencyConflict,
  IntakeFull,
  MailboxFull,
  MessageTooLarge,
  NestedTooDeep
} from "../src/delivery/AgentTask.ts"
import type { FileNotFound, FilesFull, FileTooLarge, PartInput } from "../src/conversation/Part.ts"
import type { ConversationNotFound, InitiatedBy } from "../src/conversation/Conversation.ts"
import type { InvalidInput } from "../src/schema/InvalidInput.ts"
import type {
  Address,
  AgentName,
  CallId,
  ConversationId,
  FrameId,
  Tenant
} from "../src/value/Ids.ts"
import { RunId } from "../src/value/Ids.ts"
import type { NotEntitled } from "../src/principal/NotEntitled.ts"
import type { AnchorMismatch } from "../src/memory/MemoryAnchors.ts"
import type { Principal } from "../src/principal/Principal.ts"
import type { AnswerSchema } from "../src/run/AnswerSchema.ts"
import type { Nesting } from "../src/run/Nesting.ts"
import type { RunContext } from "../src/run/RunContext.ts"
import type { RunQuarantined } from "../src/run/Quarantine.ts"
import type { CallNotUnknown, RunIsOver, RunNotFound } from "../src/run/RunCommand.ts"
import type { Settlement } from "../src/run/UnknownCall.ts"
import type { JournalEntry } from "../src/run/RunEvent.ts"
import type { JournalError } from "./RunJournal.ts"
import type { StoreError } from "./StoreError.ts"
import type { Accepted } from "./TaskStore.ts"

/** The runtime is stopping and takes no new work. */
export class ShuttingDown extends Schema.TaggedError<ShuttingDown>()("ShuttingDown", {
  /**
   * The run that a wait was for. The stop does not end the run: the next process that hosts it continues it. Absent = this was
   * not a wait.
   */
  run: Schema.optionalKey(RunId)
}) {
  override get message(): string {
    return this.run === undefined
      ? "the runtime is stopping and takes no new work"
      : `the runtime is stopping, and run ${this.run} goes on when it is hosted again`
  }
}

export interface Message {
  /**
   * The agent that gets the message. In a conversation that began with another agent, it joins that agent and is the current
   * agent of the conversation from then on.
   */
  readonly agent: AgentName
  /**
   * Absent = a new conversation. If the agent's memory belongs to operators, the id is `OPERATOR:TASK`, where OPERATOR is the
   * sender's id; if it belongs to worlds, the id is `WORLD:SESSION` or `WORLD@VERSION:SESSION`.
   */
  readonly conversation?: ConversationId | undefined
  /** 1 to 1,000,000 bytes of UTF-8, including the texts among its parts. May be empty if there are parts. */
  readonly text: string
  /** Images, audio, other files, and texts between them; 1 to 32 parts, which follow the text. Absent = none. */
  readonly parts?: ReadonlyArray<PartInput> | undefined
  /**
   * Under one key a message is accepted once: a later one gives the same run, and is refused if it says something else. 1 to 200
   * characters; a customer's keys are its own. Absent = each message is a new one.
   */
  readonly idempotency_key?: string | undefined
  /** Absent = `api`. */
  readonly channel_origin?: string | undefined
  /**
   * Who began the conversation, for a message that begins one. Absent = `customer` if the sender is a customer, else `system`.
   */
  readonly initiated_by?: InitiatedBy | undefined
  /** The run in which this message is nested, because that run sent the message through another system. Absent = none. */
  readonly nested?: Nesting | undefined
  /**
   * JSON Schema that the answer, an object, has to fit. If an answer does not fit, the model is asked once more; then the run
   * fails.
   */
  readonly answer_schema?: AnswerSchema | undefined
  /**
   * Data for the run's tools, which the model does not see: at most 16,384 characters of JSON. It has to fit what the tools
   * declare.
   */
  readonly context?: RunContext | undefined
}

/**
 * A position in a conversation: the reader has seen all events up to and including this one. `{ ordinal: 0, seq: -1 }` = none.
 */
export interface Cursor {
  readonly ordinal: number
  readonly seq: number
}

/** Where a run is: in which conversation, and its number there, from 1. */
export interface RunPlace {
  readonly conversation: ConversationId
  readonly ordinal: number
}

/**
 * An item of a watch. `Event`: a journaled event, with its cursor. `Delta` and `Output`: pieces of the turn in progress, and what
 * calls show before they end; these have no cursor and go only to those who watch at that moment. `CaughtUp`, once: everything
 * that was journaled when the watch began has been delivered, and what follows happens from then on.
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
      /** 0 = the turn begins anew: the watcher drops the pieces that it has of it. */
      readonly offset: number
    }
  | {
      readonly _tag: "Output"
      readonly run: RunId
      readonly ordinal: number
      readonly frame: FrameId
      readonly step: number
      readonly call: CallId
      /** The call's preliminary output, as JSON text, cut at 16,384 bytes. It replaces what was shown of the call before. */
      readonly text: string
    }
  | {
      readonly _tag: "CaughtUp"
      /** The position of the last event that was delivered, or of the start of the watch. */
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
 * A watch for one reader that needs no fiber while there is nothing to read: the reader takes the items that are available, and
 * is called back when there may be more (bench rows `send` and `http`). The reader does one thing at a time.
 */
export interface OpenFeed<E, A = FeedItem, R = never> {
  /** Returns the available items, at least one, and waits if there are none. Nothing is lost if it is interrupted. */
  readonly pull: Pull.Pull<readonly [A, ...Array<A>], E, void, R>
  /**
   * Returns the items that are available at once. `wait`: there are none. `pull`: only `pull` can tell, because the journal has
   * to be read.
   */
  readonly takeAvailable: () => readonly [A, ...Array<A>] | "wait" | "pull"
  /**
   * To be called after `wait`: calls back once, when there may be something to take, or at once if it has come since. Does not
   * call back after the scope of the watch has closed. A later call replaces the callback. The callback must not throw, because
   * it runs inside a commit.
   */
  readonly whenAvailable: (callback: () => void) => void
}

/** A stream as an open feed. None of its items is available before it is pulled. */
export const openStream = <A, E, R>(
  stream: Stream.Stream<A, E, R>
): Effect.Effect<OpenFeed<E, A, R>, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    // `Stream.toPull` would take a permit and merge contexts for each pull.
    const pull = yield* Channel.toPullScoped(Stream.toChannel(stream), yield* Effect.scope)
    return { pull, takeAvailable: () => "pull", whenAvailable: (callback) => callback() }
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
   * `running`: the actor has claimed a run, which is at work or waits for a person. `idle`: it has no run. `parked`: its run
   * waits for a person, only the record of the question is left, and the process keeps nothing else of the run. `stopped`: it
   * crashed too often.
   */
  readonly state: "running" | "idle" | "parked" | "stopped"
  readonly run: RunId | undefined
  readonly restarts: number
}

export class AgentRuntime extends Context.Service<
  AgentRuntime,
  {
    /**
     * Accepts a message. The message is durable on return and is handled afterwards. A customer can only name a conversation that
     * it began, and may set no `answer_schema`, no `context` and no `initiated_by` but its own. The caller limits which agents a
     * customer may write to, and what it is shown of its own runs (`CustomerView`).
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
      | IntakeFull
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
     * The current agent of a conversation of the principal's tenant: the agent that the conversation was handed over to, or else
     * the one that its last message was sent to. Fails for a customer that did not begin the conversation.
     */
    currentAgent(
      conversation: ConversationId,
      by: Principal
    ): Effect.Effect<
      AgentName,
      ConversationNotFound | InvalidInput | NotEntitled | StoreError | JournalError
    >
    /**
     * The events of a conversation of the principal's tenant after the cursor, then those to come. Never ends by itself; fails
     * with ShuttingDown when the runtime has stopped. The same id in another tenant is another conversation.
     *
     * Fails for a customer that did not begin the conversation, with InvalidInput if the cursor is in a run that the conversation
     * has not accepted, and with StoreError if a run is removed before all of it was delivered. If the run at the cursor is not
     * over and has no such event, all of its events are delivered. A cursor stays valid after retention has removed its run.
     */
    watch(
      conversation: ConversationId,
      after: Cursor,
      by: Principal
    ): Stream.Stream<FeedItem, WatchError>
    /**
     * Where the run is, if an actor of this process has it and it is of this tenant. Undefined: ask `TaskStore`. For callers that
     * may follow every run of the tenant. Without a statement (bench row `answers`).
     */
    placeOf(run: RunId, tenant: Tenant): RunPlace | undefined
    /**
     * The same as `watch`, without a stream; open until the scope closes. `isPatient`: for a caller that waits for the outcome of
     * a run. It gets the same events, but those that cannot be what it waits for together with later ones, and no pieces of turns
     * in progress (bench rows `send` and `answers`).
     */
    openFeed(
      conversation: ConversationId,
      after: Cursor,
      by: Principal,
      isPatient?: boolean
    ): Effect.Effect<OpenFeed<WatchError>, WatchError, Scope.Scope>
    /**
     * Cancels a run and closes its questions; durable when it returns. For operators, and for the customer that sent the message.
     * The reason has 1 to 4,000 characters.
     */
    interrupt(
      run: RunId,
      by: Principal,
      reason: string
    ): Effect.Effect<
      void,
      InvalidInput | NotEntitled | RunNotFound | RunIsOver | RunQuarantined | JournalError
    >
    /**
     * Records the outcome of a call whose outcome is unknown; durable when it returns. For operators. `Failed` also frees the key
     * (`idempotency`) of a call that has ended and may have had its effect: its run takes no event, and the journal of the next
     * call that holds the key says who did so.
     */
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
     * The actors that this process knows, those in memory first; at most `limit` (1 to 100,000). Absent tenant = the actors of
     * all tenants.
     */
    actors(limit: number, tenant?: Tenant): Effect.Effect<ReadonlyArray<ActorInfo>, InvalidInput>
  }
>()("troupe/services/AgentRuntime") {}
