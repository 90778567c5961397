/**
 * Reads conversations and their messages. They are written in the transactions of their tasks and runs.
 */
import { Context, Effect } from "effect"
import type {
  Conversation,
  ConversationItem,
  ConversationMessage,
  Metadata
} from "../src/conversation/Conversation.ts"
import { ConversationNotFound } from "../src/conversation/Conversation.ts"
import type { NotForCustomers } from "../src/conversation/CustomerView.ts"
import { agentRefusal, isOpenTo } from "../src/conversation/CustomerView.ts"
import type { AgentName, ConversationId, Tenant } from "../src/value/Ids.ts"
import type { Stretch } from "../src/run/Branch.ts"
import { begunBy, hiding } from "../src/principal/HiddenReason.ts"
import type { Principal } from "../src/principal/Principal.ts"
import type { StoreError } from "./StoreError.ts"

/** Selects a page of conversations. */
export interface ConversationQuery {
  /** Whose conversations. */
  readonly tenant: Tenant
  /** Up to 500. */
  readonly limit: number
  /** The `cursor` of a conversation, behind which the page begins. Absent = at the one that was active last. */
  readonly after?: string | undefined
  /** Only those that this principal began. */
  readonly begun_by?: string | undefined
  /** Only this one. */
  readonly id?: ConversationId | undefined
  /**
   * Only those that have each of these words, in any letter case, in their title or in one of their last 50 messages and answers,
   * in the first 4,000 characters of each. Of the conversations behind `after`, 500 are looked at. At most 8 words.
   */
  readonly words?: ReadonlyArray<string> | undefined
}

/** A page of conversations. */
export interface ConversationPage {
  /** The conversations, those that were active last first. */
  readonly items: ReadonlyArray<ConversationItem>
  /** `after` of the next page, which may be there although this one has few items, or none. Absent = there is no other page. */
  readonly next?: string
}

/** What can be changed of a conversation. Absent = it stays. */
export interface ConversationChange {
  /** What it is called in lists. */
  readonly title?: string | undefined
  /** What the application notes of it, in place of what it noted before. */
  readonly metadata?: Metadata | undefined
}

/** Of which runs messages are listed. */
export interface ShownRuns {
  /** The runs of the current branch, newest first. */
  readonly current: ReadonlyArray<Stretch>
  /** Whether messages of other runs are listed too. */
  readonly others: boolean
}

/** How many conversations a search looks at for one page. */
export const looked_max = 500
/** How many messages of a conversation a search looks at, and how many characters of each. */
export const searched_messages_max = 50
/** How many characters of a message a search looks at. */
export const searched_units_max = 4_000

/** Reads a cursor: the time of the last activity, in ms since 1970, and the id. */
export const cursorParts = (cursor: string): { readonly at: number; readonly id: string } => {
  const dot = cursor.indexOf(".")
  return { at: Number(cursor.slice(0, dot)), id: cursor.slice(dot + 1) }
}

/** The conversations and their messages. */
export class ConversationStore extends Context.Service<
  ConversationStore,
  {
    /** The conversation; undefined = the tenant has none with this id. */
    get(tenant: Tenant, id: ConversationId): Effect.Effect<Conversation | undefined, StoreError>
    /**
     * As `get`, for a principal of this tenant: a conversation of another tenant is not found. SQL stores that have a tenant role
     * also enforce this with row-level security.
     */
    read(tenant: Tenant, id: ConversationId): Effect.Effect<Conversation | undefined, StoreError>
    /**
     * Conversations, the one that was active last first. Whoever reads on behind a cursor sees none twice, unless it was active
     * meanwhile. Deleted ones are left out.
     */
    list(query: ConversationQuery): Effect.Effect<ConversationPage, StoreError>
    /** Changes a conversation, at once; false = the tenant has none with this id. */
    change(
      tenant: Tenant,
      id: ConversationId,
      change: ConversationChange
    ): Effect.Effect<boolean, StoreError>
    /**
     * Messages with a seq above `after` (-1 = from the start), in order; at most `limit` (up to 500). `shown`: the runs of the
     * current branch; messages of others are left out, or marked as superseded. Absent = there is one branch.
     */
    messages(
      tenant: Tenant,
      id: ConversationId,
      after: number,
      limit: number,
      shown?: ShownRuns
    ): Effect.Effect<ReadonlyArray<ConversationMessage>, StoreError>
  }
>()("troupe/services/ConversationStore") {}

/**
 * A conversation that the principal may use this right in; `find` is `get` or `read` of the store. For a customer a conversation
 * that it did not begin is not found, and one that began with an agent that is not for customers is refused.
 */
export const openConversation = Effect.fnUntraced(function* (
  find: ConversationStore["Service"]["get"],
  by: Principal,
  right: "answer" | "deleteConversations" | "follow" | "send",
  id: ConversationId,
  customer_agents: ReadonlyArray<AgentName>
): Effect.fn.Return<Conversation, ConversationNotFound | NotForCustomers | StoreError> {
  const found = yield* find(by.tenant, id)
  if (found === undefined) return yield* new ConversationNotFound({ id })
  if (!isOpenTo(by, right, found.begun_by)) {
    return yield* hiding(begunBy(found.begun_by), new ConversationNotFound({ id }))
  }
  const refusal = agentRefusal(by, right, found.address.agent, customer_agents)
  return refusal === undefined ? found : yield* refusal
})
