/**
 * Reads conversations in SQL. `SqlTaskStore` and the journal write them.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { ConversationMessage } from "../../../src/conversation/Conversation.ts"
import { MessageRole } from "../../../src/conversation/Conversation.ts"
import { Part } from "../../../src/conversation/Part.ts"
import { ConversationId, RunId, Tenant } from "../../../src/value/Ids.ts"
import { readablePage, readableRows, rowDecoder } from "../engine/DecodedRows.ts"
import * as GroupedReads from "../engine/GroupedReads.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { StoredAnswer } from "../engine/StoredText.ts"
import { TenantReads } from "../engine/TenantReads.ts"
import * as ConversationList from "./ConversationList.ts"
import { columns, conversationOf, ConversationRow } from "./ConversationRows.ts"

const page_max = 500

/** Conversation rows with the place, from 1, of the key that each belongs to. */
const decodePlaced = rowDecoder(
  Schema.Struct({ place: Schema.Int, ...ConversationRow.fields }),
  "conversations"
)

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
  superseded: Schema.optionalKey(Schema.Boolean),
  created_at: Schema.BigInt
})
const decodeMessages = readableRows(MessageRow, "messages of a conversation")

const messageOf = ({
  content,
  created_at,
  run_id,
  said,
  superseded,
  tool_calls,
  ...row
}: typeof MessageRow.Type): ConversationMessage => ({
  ...row,
  ...(typeof content === "string" ? { content } : content),
  ...(said?.parts === undefined ? undefined : { parts: said.parts }),
  ...(tool_calls === null ? undefined : { tool_calls }),
  ...(run_id === null ? undefined : { run_id }),
  ...(superseded === true && { superseded }),
  created_at: Number(created_at)
})

const messages_statement = `SELECT m.conversation, m.seq, m.role, m.content, m.channel_origin, m.tool_calls, m.run_id, m.created_at,
    t.trace_id AS said
  FROM troupe.conversation_messages m LEFT JOIN troupe.agent_tasks t
    ON m.role = 'user' AND t.id = m.run_id AND t.trace_id LIKE '{%"parts":%'
  WHERE m.conversation = $1::text AND m.tenant = $2::text AND m.seq > $3::int4 ORDER BY m.seq LIMIT $4::int4`

/** As above, where some messages stand in place of others: $5 and $6 are the stretches of the current branch. */
const branch_statement = `SELECT * FROM (
    SELECT m.conversation, m.seq, m.role, m.content, m.channel_origin, m.tool_calls, m.run_id, m.created_at,
      CASE WHEN m.role = 'user' AND t.trace_id LIKE '{%"parts":%' THEN t.trace_id END AS said,
      t.ordinal IS NOT NULL AND NOT EXISTS (SELECT FROM unnest($5::int4[], $6::int4[]) AS s(first, last)
        WHERE t.ordinal BETWEEN s.first AND s.last) AS superseded
    FROM troupe.conversation_messages m LEFT JOIN troupe.agent_tasks t ON t.id = m.run_id
    WHERE m.conversation = $1::text AND m.tenant = $2::text AND m.seq > $3::int4) m
  WHERE $7::bool OR NOT superseded ORDER BY seq LIMIT $4::int4`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const get = yield* getting(sql)
  const reads = yield* TenantReads
  const read = yield* reading(sql, reads)
  return ConversationStore.of({
    get: (tenant, id) => Effect.mapError(get({ tenant, id }), orStoreError),
    read: (tenant, id) => Effect.mapError(read({ tenant, id }), orStoreError),
    list: ConversationList.make(sql, reads),
    change: (tenant, id, { metadata, title }) =>
      Effect.mapBoth(
        sql.unsafe(
          `UPDATE troupe.conversations SET title = coalesce($3::text, title), metadata = coalesce($4::text, metadata)
           WHERE id = $2::text AND tenant = $1::text AND NOT deleted RETURNING 1 AS changed`,
          [tenant, id, ...[title, metadata].map((each) => each && JSON.stringify(each))]
        ),
        { onSuccess: (rows) => rows.length > 0, onFailure: orStoreError }
      ),
    messages: (tenant, id, after, limit, shown) =>
      readablePage<ConversationMessage, number, StoreError, never>({
        limit: Math.min(limit, page_max),
        after,
        rowsOf: (behind, most) =>
          Effect.mapError(
            reads.of(tenant)(
              shown === undefined
                ? sql.unsafe<SqlConnection.Row>(messages_statement, [id, tenant, behind, most])
                : sql.unsafe<SqlConnection.Row>(branch_statement, [
                    id,
                    tenant,
                    behind,
                    most,
                    shown.current.map(({ first }) => first),
                    shown.current.map(({ last }) => last),
                    shown.others
                  ])
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
