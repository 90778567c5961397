/** Rows of conversations, as they are read one by one and in lists. Private to this room. */
import { Schema } from "effect"
import type { Conversation } from "../../../src/conversation/Conversation.ts"
import { InitiatedBy } from "../../../src/conversation/Conversation.ts"
import { AgentName, ConversationId, Tenant } from "../../../src/value/Ids.ts"
import { StoredText } from "../engine/StoredText.ts"

/** A row of a conversation. */
export const ConversationRow = Schema.Struct({
  id: ConversationId,
  tenant: Tenant,
  agent: AgentName,
  address_key: ConversationId,
  initiated_by: InitiatedBy,
  trigger_event_id: Schema.NullOr(StoredText),
  begun_by: Schema.NullOr(StoredText),
  created_at: Schema.BigInt
})

export const columns =
  "id, tenant, agent, address_key, initiated_by, trigger_event_id, begun_by, created_at"

export const conversationOf = ({
  address_key,
  agent,
  begun_by,
  created_at,
  trigger_event_id,
  ...row
}: typeof ConversationRow.Type): Conversation => ({
  ...row,
  address: { agent, key: address_key },
  ...(trigger_event_id === null ? undefined : { trigger_event_id }),
  ...(begun_by === null ? undefined : { begun_by }),
  created_at: Number(created_at)
})
