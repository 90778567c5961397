/**
 * Conversations in SQL, to be read: `SqlTaskStore` and the journal write them.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import type {
  Conversation,
  ConversationMessage,
  InitiatedBy,
  MessageRole
} from "../../../src/conversation/Conversation.ts"
import type { Address, ConversationId, RunId, Tenant } from "../../../src/Ids.ts"
import { toStoreError } from "../engine/SqlFailure.ts"
import { answerOf, textOf } from "../engine/StoredText.ts"

const page_max = 500

interface ConversationRow {
  readonly id: string
  readonly tenant: string
  readonly agent: string
  readonly address_key: string
  readonly initiated_by: string
  readonly trigger_event_id: string | null
  readonly begun_by: string | null
  readonly created_at: bigint
}

const columns =
  "id, tenant, agent, address_key, initiated_by, trigger_event_id, begun_by, created_at"

const conversationOf = (row: ConversationRow): Conversation => ({
  id: row.id as ConversationId,
  tenant: row.tenant as Tenant,
  address: { agent: row.agent, key: row.address_key } as Address,
  initiated_by: row.initiated_by as InitiatedBy,
  ...(row.trigger_event_id === null
    ? undefined
    : { trigger_event_id: textOf(row.trigger_event_id) }),
  ...(row.begun_by === null ? undefined : { begun_by: textOf(row.begun_by) }),
  created_at: Number(row.created_at)
})

interface MessageRow {
  readonly conversation: string
  readonly seq: number
  readonly role: string
  readonly content: string
  readonly channel_origin: string
  readonly tool_calls: string | null
  readonly run_id: string | null
  readonly created_at: bigint
}

const messageOf = (row: MessageRow): ConversationMessage => ({
  conversation: row.conversation as ConversationId,
  seq: row.seq,
  role: row.role as MessageRole,
  ...answerOf(row.content),
  channel_origin: row.channel_origin,
  ...(row.tool_calls === null ? undefined : { tool_calls: JSON.parse(row.tool_calls) }),
  ...(row.run_id === null ? undefined : { run_id: row.run_id as RunId }),
  created_at: Number(row.created_at)
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return ConversationStore.of({
    get: (tenant, id) =>
      Effect.mapBoth(
        sql.unsafe<ConversationRow>(
          `SELECT ${columns} FROM troupe.conversations WHERE id = $1::text AND tenant = $2::text`,
          [id, tenant]
        ),
        {
          onSuccess: ([row]) => (row === undefined ? undefined : conversationOf(row)),
          onFailure: toStoreError
        }
      ),
    list: (tenant, limit, before, begun_by) =>
      Effect.mapBoth(
        sql.unsafe<ConversationRow>(
          `SELECT ${columns} FROM troupe.conversations WHERE tenant = $1::text AND created_at < $2::int8
           ${begun_by === undefined ? "" : "AND begun_by = $4::text"} ORDER BY created_at DESC, position DESC LIMIT $3::int4`,
          [
            tenant,
            before ?? Number.MAX_SAFE_INTEGER,
            Math.min(limit, page_max),
            ...(begun_by === undefined ? [] : [JSON.stringify(begun_by)])
          ]
        ),
        { onSuccess: (rows) => rows.map(conversationOf), onFailure: toStoreError }
      ),
    messages: (tenant, id, after, limit) =>
      Effect.mapBoth(
        sql.unsafe<MessageRow>(
          `SELECT m.conversation, m.seq, m.role, m.content, m.channel_origin, m.tool_calls, m.run_id, m.created_at
           FROM troupe.conversation_messages m
           WHERE m.conversation = $1::text AND m.tenant = $2::text AND m.seq > $3::int4 ORDER BY m.seq LIMIT $4::int4`,
          [id, tenant, after, Math.min(limit, page_max)]
        ),
        { onSuccess: (rows) => rows.map(messageOf), onFailure: toStoreError }
      )
  })
})

export const layer: Layer.Layer<ConversationStore, never, SqlClient.SqlClient> = Layer.effect(
  ConversationStore,
  make
)
