/**
 * Stores the work that was accepted for agents. Accepting a task is one transaction: the conversation (created if it is new), the
 * user's message (with what was answered, if it is `imported`), the task, and either the outbox row that dispatches it or its run (`Accepted.begun`). A task's later status is
 * a projection of its run, written by the journal.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { InitiatedBy, Metadata } from "../src/conversation/Conversation.ts"
import type {
  AddressConflict,
  AgentBusy,
  AgentTask,
  IdempotencyConflict,
  MailboxFull,
  MessageExtras
} from "../src/delivery/AgentTask.ts"
import type { Address, ConversationId, MessageId, RunId, Tenant } from "../src/value/Ids.ts"
import type { Roles } from "../src/principal/Principal.ts"
import type { QueuedBehind } from "../src/run/QueuedBehind.ts"
import type { RunAccepted } from "../src/run/RunEvent.ts"
import type { Claim } from "./RunOwnership.ts"
import type { StoreError } from "./StoreError.ts"

/** A message to accept. */
export interface NewTask extends MessageExtras {
  /** The id of the task and of its run. */
  readonly id: RunId
  /** Whose task it is. */
  readonly tenant: Tenant
  /** The actor that handles it. */
  readonly address: Address
  /** The conversation that it is in. */
  readonly conversation: ConversationId
  /** The text of the message. */
  readonly message: string
  /** The principal that sends it. */
  readonly by: string
  /** The roles of the sender, stored with the task. Absent = not known. */
  readonly roles?: Roles | undefined
  /** Who sent it for `by`. Absent = `by` itself. */
  readonly via?: string | undefined
  /** The trace that it is in. */
  readonly trace_id: string
  /** The channel from which it comes: `api`, `console`, `slack`, ... */
  readonly channel_origin: string
  /** Who began the conversation, where the message begins it. */
  readonly initiated_by: InitiatedBy
  /** The title of the conversation, if the task begins it. Absent = none. */
  readonly title?: string | undefined
  /** What is noted of the conversation, if the task begins it. Absent = nothing. */
  readonly metadata?: Metadata | undefined
  /** The event that the message tells of: it is stored with the role `system`, otherwise with `user`. */
  readonly trigger_event_id?: string | undefined
  /** The same message with the same key is the same task. The key is stored as long as the task is. At most 200 characters. */
  readonly idempotency_key?: string | undefined
  /** SHA-256 in hex of what its sender posted, by which `posted` finds it. Absent = it does not. */
  readonly posted?: string | undefined
  /** The maximum number of tasks of the address that are neither complete nor failed; one more is refused with `MailboxFull`. */
  readonly waiting_max: number
  /**
   * The task begins its conversation, whatever waits: where there is such a one, it is refused with `AddressConflict`. Absent = it
   * may follow others.
   */
  readonly must_begin?: true | undefined
  /**
   * The number of the task that is the newest of the conversation: where another one has come since, it is refused with `AgentBusy`.
   * Absent = it may follow any.
   */
  readonly after?: number | undefined
  /** Whether the agent's mailbox refuses a message while the agent is busy. */
  readonly reject_when_busy: boolean
  /** The id of the outbox message that dispatches the task. */
  readonly message_id: MessageId
  /**
   * With a claim, the caller begins the task's run itself under this claim (`RunOwnership.begin`), unless the store begins it.
   * Absent = a relay delivers the task.
   */
  readonly claim?: DispatchClaim | undefined
}

/** Claims the task's dispatch as it is accepted, so that no other process looks for it. */
export interface DispatchClaim {
  /** The name of the claim's owner. */
  readonly owner: string
  /** How long the claim holds, in ms. */
  readonly lease_ms: number
  /**
   * The owner that claims the run, and the run's first event, for a store that begins the run where it accepts the task
   * (`Accepted.begun`).
   */
  readonly begins?:
    | {
        /** The name of the run's owner. */
        readonly owner: string
        /** The run's first event. */
        readonly accepted: RunAccepted
      }
    | undefined
}

/** A task that was accepted, or the earlier one with its key. */
export interface Accepted {
  /** The task. */
  readonly task: AgentTask
  /** False = the idempotency key was known, and `task` is the earlier task. */
  readonly created: boolean
  /**
   * The task's claim holds its dispatch for `lease_ms`, as if a relay had claimed it, because no other task of the address waits
   * or is at work. Absent = the dispatch waits for a relay.
   */
  readonly held?: true
  /**
   * The run of the task, if it began as the claim says, because no other task of the address waits or is at work; then there is
   * no dispatch. Only if the claim has `begins`, and not in every store. Listeners to commits are not notified of its events.
   */
  readonly begun?: Claim
  /**
   * The message waits behind an earlier run of its conversation, which waits for people to answer these questions. Absent = it
   * does not, or nobody could tell. The runtime says so; a store does not.
   */
  readonly queued_behind?: QueuedBehind
}

/** The topic of the outbox row that dispatches a task. Its payload is `{ task_id }`. */
export const dispatched_topic = "agent.task.dispatched"

/** Accepted messages, each with its idempotency key and its number in the conversation. */
export class TaskStore extends Context.Service<
  TaskStore,
  {
    /** Stores a message durably, or gives the earlier one with its key. */
    accept(
      task: NewTask
    ): Effect.Effect<
      Accepted,
      MailboxFull | AgentBusy | IdempotencyConflict | AddressConflict | StoreError
    >
    /**
     * A task; undefined if it is unknown. For internal use: the caller has to check the tenant before it shows the task to
     * anyone.
     */
    get(id: RunId): Effect.Effect<AgentTask | undefined, StoreError>
    /**
     * As `get`, for a principal of this tenant: a task of another tenant is not found. SQL stores that have a tenant role also
     * enforce this with row-level security.
     */
    read(tenant: Tenant, id: RunId): Effect.Effect<AgentTask | undefined, StoreError>
    /** Tasks of a tenant's conversation with an ordinal above `after`, in order; at most `limit` (up to 500). */
    ofConversation(
      tenant: Tenant,
      conversation: ConversationId,
      after: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<AgentTask>, StoreError>
    /**
     * The ordinal of the newest task of a tenant's conversation, even if the task was removed since; 0 = there has been no task.
     */
    newestOrdinal(tenant: Tenant, conversation: ConversationId): Effect.Effect<number, StoreError>
    /**
     * The tasks of a tenant's conversation that stand in place of others (`branch`), newest first; at most `branches_max`.
     */
    branches(
      tenant: Tenant,
      conversation: ConversationId
    ): Effect.Effect<ReadonlyArray<AgentTask>, StoreError>
    /** The tasks of a tenant with this digest (`NewTask.posted`), newest first; at most `limit` (up to 500). */
    posted(
      tenant: Tenant,
      digest: string,
      limit: number
    ): Effect.Effect<ReadonlyArray<AgentTask>, StoreError>
    /** The newest ended tasks of a tenant's conversation below an ordinal, newest first; at most `limit` (up to 500). */
    endedBefore(
      tenant: Tenant,
      conversation: ConversationId,
      ordinal: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<AgentTask>, StoreError>
  }
>()("troupe/services/TaskStore") {}
