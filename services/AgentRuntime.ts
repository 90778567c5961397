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
import type {
  ConversationNotFound,
  InitiatedBy,
  Metadata
} from "../src/conversation/Conversation.ts"
import type { InvalidInput } from "../src/schema/InvalidInput.ts"
import type { Address, AgentName, CallId, ConversationId, Tenant } from "../src/value/Ids.ts"
import { RunId } from "../src/value/Ids.ts"
import type { NotEntitled } from "../src/principal/NotEntitled.ts"
import type { AnchorMismatch } from "../src/memory/MemoryAnchors.ts"
import type { Principal } from "../src/principal/Principal.ts"
import type { AnswerSchema } from "../src/run/AnswerSchema.ts"
import type { Nesting } from "../src/run/Nesting.ts"
import type { Cursor, FeedItem } from "../src/run/FeedItem.ts"
import type { ForkOptions } from "../src/replay/ForkOptions.ts"
import type { NotForkable } from "../src/run/Forked.ts"
import type { RunContext } from "../src/run/RunContext.ts"
import type { RunQuarantined } from "../src/run/Quarantine.ts"
import type { CallNotUnknown, RunIsOver, RunNotFound } from "../src/run/RunCommand.ts"
import type { Settlement } from "../src/run/UnknownCall.ts"
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

/** A message to an agent, as channels and surfaces pass it. */
export interface Message {
  /**
   * The agent that gets the message. In a conversation that began with another agent, it joins that agent and is the current
   * agent of the conversation from then on.
   */
  readonly agent: AgentName
  /**
   * Absent = a new conversation, with an id of the service. A customer begins one under `CUSTOMER:NAME`, where CUSTOMER is its own
   * id; every other id that is not of its own conversations is not found. If the agent's memory belongs to operators, the id is `OPERATOR:TASK`, where OPERATOR is the
   * sender's id; if it belongs to worlds, the id is `WORLD:SESSION` or `WORLD@VERSION:SESSION`.
   */
  readonly conversation?: ConversationId | undefined
  /** 1 to 1,000,000 bytes of UTF-8, including the texts among its parts. May be empty if there are parts, or with `replaces`. */
  readonly text: string
  /**
   * A run of this conversation that is over, in place of which this message stands: its run is told what was said before that
   * one, and later messages follow it. With an empty text and no parts that run's message is said again, with its files, context
   * and answer schema. What the replaced run did is not undone. Absent = the message follows the last one.
   */
  readonly replaces?: RunId | undefined
  /**
   * A run of this conversation that this message follows, whatever was said behind it since: its run is told what was said up to that
   * one. Another message that follows that one has to be over. Absent = the message follows the last one.
   */
  readonly follows?: RunId | undefined
  /** Images, audio, other files, and texts between them; 1 to 32 parts, which follow the text. Absent = none. */
  readonly parts?: ReadonlyArray<PartInput> | undefined
  /**
   * Under one key a message is accepted once: a later one gives the same run, and is refused if it says something else. 1 to 200
   * characters; a customer's keys are its own. Absent = each message is a new one.
   */
  readonly idempotency_key?: string | undefined
  /** A digest of what its sender posted, by which the run is found again (`TaskStore.posted`). Absent = it is not. */
  readonly posted?: string | undefined
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
  /**
   * What the application notes of the conversation that this message begins: at most 16 names with texts of at most 500
   * characters. Of a conversation that there is, it changes nothing. Customers may not send it.
   */
  readonly metadata?: Metadata | undefined
}

/** Where a run is: in which conversation, and its number there, from 1. */
export interface RunPlace {
  /** The conversation. */
  readonly conversation: ConversationId
  /** The run's number in it, from 1. */
  readonly ordinal: number
}

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

/** An actor of this process. */
export interface ActorInfo {
  /** Whose actor it is. */
  readonly tenant: Tenant
  /** Its agent, and its conversation. */
  readonly address: Address
  /**
   * `running`: the actor has claimed a run, which is at work or waits for a person. `idle`: it has no run. `parked`: its run
   * waits for a person, only the record of the question is left, and the process keeps nothing else of the run. `stopped`: it
   * crashed too often.
   */
  readonly state: "running" | "idle" | "parked" | "stopped"
  /** The run that it is at work on. Undefined = none. */
  readonly run: RunId | undefined
  /** How often it crashed and was restarted within its window. */
  readonly restarts: number
}

/** The runtime of agents: takes messages, runs them, and shows what happens. */
export class AgentRuntime extends Context.Service<
  AgentRuntime,
  {
    /**
     * Accepts a message. The message is durable on return and is handled afterwards. A customer can only name a conversation that
     * it began, or begins under an id that begins with its own (`ownPrefix`), and may set no `answer_schema`, no `context` and no `initiated_by` but its own. The caller limits which agents a
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
      | RunNotFound
      | ShuttingDown
      | StoreError
    >
    /**
     * Makes a fork: a new run, in a new conversation that takes no messages, which is given what the other run's models said before
     * a turn and goes on from there, with what `options` change. It changes nothing: a call gets the result that a call with the
     * same arguments had in the other run; a read that was not recorded runs, for the sender of that run and with its roles;
     * anything else is refused, and nobody is asked. The other run is left as it is, and may still be at work. Its cost is
     * the forker's. Durable on return; for operators, whose roles have to contain those of the run's sender if that is no customer.
     */
    fork(
      run: RunId,
      options: ForkOptions,
      by: Principal
    ): Effect.Effect<
      Accepted,
      | FileNotFound
      | FilesFull
      | FileTooLarge
      | IdempotencyConflict
      | InvalidInput
      | JournalError
      | MessageTooLarge
      | NotEntitled
      | NotForkable
      | RunNotFound
      | ShuttingDown
      | StoreError
    >
    /**
     * The current agent of a conversation of the principal's tenant: the agent that the conversation was handed over to, or else
     * the one that its last message was sent to. For a message that stands in place of a run: the agent of that run. For one that
     * follows a run: the agent that had the conversation behind it. Fails for a customer that did not begin the conversation.
     */
    currentAgent(
      conversation: ConversationId,
      by: Principal,
      at?: Pick<Message, "follows" | "replaces">
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
