/**
 * Reads conversations and their messages. They are written in the transactions of their tasks and runs.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Conversation, ConversationMessage } from "../src/conversation/Conversation.ts"
import type { ConversationId, Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

export class ConversationStore extends Context.Service<
  ConversationStore,
  {
    get(tenant: Tenant, id: ConversationId): Effect.Effect<Conversation | undefined, StoreError>
    /** As `get`, for a principal: by the rights of the database too a conversation of another tenant is not there. */
    read(tenant: Tenant, id: ConversationId): Effect.Effect<Conversation | undefined, StoreError>
    /**
     * Newest first, those behind the conversation `after` (absent = from the newest one; unknown = none) and begun by this
     * principal (absent = by anyone); at most `limit` (up to 500).
     */
    list(
      tenant: Tenant,
      limit: number,
      after?: ConversationId,
      begun_by?: string
    ): Effect.Effect<ReadonlyArray<Conversation>, StoreError>
    /** Messages with a seq above `after` (-1 = from the start), in order; at most `limit` (up to 500). */
    messages(
      tenant: Tenant,
      id: ConversationId,
      after: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<ConversationMessage>, StoreError>
  }
>()("troupe/services/ConversationStore") {}
