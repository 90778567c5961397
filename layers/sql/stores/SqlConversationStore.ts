/**
 * Reads conversations in SQL. `SqlTaskStore` and the journal write them.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Conversation, ConversationMessage } from "../../../src/conversation/Conversation.ts"
import { InitiatedBy, MessageRole } from "../../../src/conversation/Conversation.ts"
import { Part } from "../../../src/conversation/Part.ts"
import { AgentName, ConversationId, RunId, Tenant } from "../../../src/value/Ids.ts"
import { readablePage, readableRows, rowDecoder } from "../engine/DecodedRows.ts"
import * as GroupedReads from "../engine/GroupedReads.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { StoredAnswer, StoredText } from "../engine/StoredText.ts"
import { TenantReads } from "../engine/TenantReads.ts"

const page_max = 500

const ConversationRow = Schema.Struct({
  id: ConversationId,
  tenant: Tenant,
  agent: AgentName,
  address_key: ConversationId,
  initiated_by: InitiatedBy,
  trigger_event_id: Schema.NullOr(StoredText),
  begun_by: Schema.NullOr(StoredText),
  created_at: Schema.BigInt
})
const decodeConversations = readableRows(ConversationRow, "conversations")
/** Conversation rows with the place, from 1, of the key that each belongs to. */
const decodePlaced = rowDecoder(
  Schema.Struct({ place: Schema.Int, ...ConversationRow.fields }),
  "conversations"
)

const columns =
  "id, tenant, agent, address_key, initiated_by, trigger_event_id, begun_by, created_at"

const conversationOf = ({
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

/** The most keys in one statement. */
const batch_max = 128

const of_ids = `SELECT w.place::int4 AS place, c.*
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w(id, tenant, place)
  CROSS JOIN LATERAL (SELECT ${columns} FROM troupe.conversations WHERE id = w.id AND tenant = w.tenant OFFSET 0) c`

interface Key {
  readonly tenant: Tenant
  readonly id: ConversationId
}

const of_ids_of_tenant = `SELECT w.place::int4 AS place, c.*
  FROM unnest($1::text[]) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT ${columns} FROM troupe.conversations WHERE id = w.id AND tenant = $2::text OFFSET 0) c`

/** The conversation that a statement finds for each key, in the order of the keys; undefined where it finds none. */
const placed = (
  sql: SqlClient.SqlClient,
  text: string,
  keys: ReadonlyArray<Key>,
  tenants: Tenant | ReadonlyArray<Tenant>
) =>
  Effect.map(
    Effect.flatMap(sql.unsafe(text, [keys.map(({ id }) => id), tenants]), decodePlaced),
    (rows) => {
      const found = new Map(rows.map(({ place, ...row }) => [place, conversationOf(row)]))
      return keys.map((_, i) => found.get(i + 1))
    }
  )

const getting = (sql: SqlClient.SqlClient) =>
  GroupedReads.make({
    sql,
    batch_max,
    read: (keys: ReadonlyArray<Key>) =>
      placed(
        sql,
        of_ids,
        keys,
        keys.map(({ tenant }) => tenant)
      )
  })

/** Reads a conversation for principals of a tenant, with the tenant's database rights. */
const reading = (sql: SqlClient.SqlClient, reads: TenantReads["Service"]) =>
  GroupedReads.makeForTenants({
    sql,
    batch_max,
    reads,
    read: (tenant, keys: ReadonlyArray<Key>) => placed(sql, of_ids_of_tenant, keys, tenant)
  })

/** What a message says beside its text. It is stored with the message's task. */
const SaidParts = Schema.Struct({ parts: Schema.optionalKey(Schema.Array(Part)) })

/** A row of a message. `content` is a text, or an object with the text and how the answer ended. */
const MessageRow = Schema.Struct({
  conversation: ConversationId,
  seq: Schema.Int,
  role: MessageRole,
  content: Schema.fromJsonString(Schema.Union([Schema.String, StoredAnswer])),
  channel_origin: Schema.String,
  tool_calls: Schema.NullOr(Schema.fromJsonString(Schema.Array(Schema.Json))),
  run_id: Schema.NullOr(RunId),
  said: Schema.NullOr(Schema.fromJsonString(SaidParts)),
  created_at: Schema.BigInt
})
const decodeMessages = readableRows(MessageRow, "messages of a conversation")

const messageOf = ({
  content,
  created_at,
  run_id,
  said,
  tool_calls,
  ...row
}: typeof MessageRow.Type): ConversationMessage => ({
  ...row,
  ...(typeof content === "string" ? { content } : content),
  ...(said?.parts === undefined ? undefined : { parts: said.parts }),
  ...(tool_calls === null ? undefined : { tool_calls }),
  ...(run_id === null ? undefined : { run_id }),
  created_at: Number(created_at)
})

/**
 * A page of a tenant's conversations. `tenant || ''` is how the indexes of lists have the tenant: the planner does not choose
 * them where it looks for a single conversation.
 */
const listed = (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  limit: number,
  after: string | undefined,
  begun_by: string | undefined
) => {
  const params: Array<unknown> = [tenant, limit]
  const conditions = ["tenant || '' = $1::text"]
  if (after !== undefined) {
    conditions.push(`(created_at, position) < (SELECT p.created_at, p.position
      FROM troupe.conversations p WHERE p.id = $${params.push(after)}::text AND p.tenant = $1::text)`)
  }
  if (begun_by !== undefined) {
    conditions.push(`begun_by = $${params.push(JSON.stringify(begun_by))}::text`)
  }
  return sql.unsafe<SqlConnection.Row>(
    `SELECT ${columns} FROM troupe.conversations WHERE ${conditions.join(" AND ")}
     ORDER BY created_at DESC, position DESC LIMIT $2::int4`,
    params
  )
}

const messages_statement = `SELECT m.conversation, m.seq, m.role, m.content, m.channel_origin, m.tool_calls, m.run_id, m.created_at,
    t.trace_id AS said
  FROM troupe.conversation_messages m LEFT JOIN troupe.agent_tasks t
    ON m.role = 'user' AND t.id = m.run_id AND t.trace_id LIKE '{%"parts":%'
  WHERE m.conversation = $1::text AND m.tenant = $2::text AND m.seq > $3::int4 ORDER BY m.seq LIMIT $4::int4`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const get = yield* getting(sql)
  const reads = yield* TenantReads
  const read = yield* reading(sql, reads)
  return ConversationStore.of({
    get: (tenant, id) => Effect.mapError(get({ tenant, id }), orStoreError),
    read: (tenant, id) => Effect.mapError(read({ tenant, id }), orStoreError),
    list: (tenant, limit, after, begun_by) =>
      readablePage<Conversation, string, StoreError, never>({
        limit: Math.min(limit, page_max),
        after,
        rowsOf: (behind, most) =>
          Effect.mapError(
            reads.of(tenant)(listed(sql, tenant, most, behind, begun_by)),
            orStoreError
          ),
        read: (rows) => Effect.map(decodeConversations(rows), (all) => all.map(conversationOf)),
        keyOf: (row) => row["id"]
      }),
    messages: (tenant, id, after, limit) =>
      readablePage<ConversationMessage, number, StoreError, never>({
        limit: Math.min(limit, page_max),
        after,
        rowsOf: (behind, most) =>
          Effect.mapError(
            reads.of(tenant)(
              sql.unsafe<SqlConnection.Row>(messages_statement, [id, tenant, behind, most])
            ),
            orStoreError
          ),
        read: (rows) => Effect.map(decodeMessages(rows), (all) => all.map(messageOf)),
        keyOf: (row) => row["seq"]
      })
  })
})

export const layer: Layer.Layer<ConversationStore, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(ConversationStore, make)
