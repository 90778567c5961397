/**
 * Stores the work that was accepted for agents. Accepting a task is one transaction: the conversation (created if it is new), the
 * user's message, the task, and either the outbox row that dispatches it or its run (`Accepted.begun`). A task's later status is
 * a projection of its run, written by the journal.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { InitiatedBy } from "../src/conversation/Conversation.ts"
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
import type { RunAccepted } from "../src/run/RunEvent.ts"
import type { Claim } from "./RunOwnership.ts"
import type { StoreError } from "./StoreError.ts"

export interface NewTask extends MessageExtras {
  readonly id: RunId
  readonly tenant: Tenant
  readonly address: Address
  readonly conversation: ConversationId
  readonly message: string
  readonly by: string
  /** The roles of the sender, stored with the task. Absent = not known. */
  readonly roles?: Roles | undefined
  readonly trace_id: string
  readonly channel_origin: string
  readonly initiated_by: InitiatedBy
  /** The event that the message tells of: it is stored with the role `system`, otherwise with `user`. */
  readonly trigger_event_id?: string | undefined
  /** The same message with the same key is the same task. The key is stored as long as the task is. At most 200 characters. */
  readonly idempotency_key?: string | undefined
  /** The maximum number of tasks of the address that are neither complete nor failed; one more is refused with `MailboxFull`. */
  readonly waiting_max: number
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

export interface DispatchClaim {
  readonly owner: string
  readonly lease_ms: number
  /**
   * The owner that claims the run, and the run's first event, for a store that begins the run where it accepts the task
   * (`Accepted.begun`).
   */
  readonly begins?: { readonly owner: string; readonly accepted: RunAccepted } | undefined
}

export interface Accepted {
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
}

/** The topic of the outbox row that dispatches a task. Its payload is `{ task_id }`. */
export const dispatched_topic = "agent.task.dispatched"

export class TaskStore extends Context.Service<
  TaskStore,
  {
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
    /** The newest ended tasks of a tenant's conversation below an ordinal, newest first; at most `limit` (up to 500). */
    endedBefore(
      tenant: Tenant,
      conversation: ConversationId,
      ordinal: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<AgentTask>, StoreError>
  }
>()("troupe/services/TaskStore") {}
