/**
 * Reads dead letters in PostgreSQL.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import type { DeadLetterQuery } from "../../../services/OutboxReader.ts"
import { OutboxReader } from "../../../services/OutboxReader.ts"
import type { DeadLetter } from "../../../src/delivery/OutboxMessage.ts"
import { DeadLetterNotFound, DeliveryFailure } from "../../../src/delivery/OutboxMessage.ts"
import { MessageId, Tenant } from "../../../src/value/Ids.ts"
import { letterCode, StoredLetterStatus } from "../engine/StoredStatus.ts"
import { isEventId } from "./OutboxRows.ts"
import { readablePage, readableRows, rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { StoredText } from "../engine/StoredText.ts"
import { TenantReads } from "../engine/TenantReads.ts"

const page_max = 500

const LetterRow = Schema.Struct({
  event_id: MessageId,
  tenant: Tenant,
  handler_name: Schema.String,
  key: Schema.String,
  payload: Schema.fromJsonString(Schema.Json),
  attempts: Schema.Int,
  failures: Schema.fromJsonString(Schema.Array(DeliveryFailure)),
  dead_at: Schema.Int,
  status: StoredLetterStatus,
  resolved_by: Schema.NullOr(StoredText),
  resolved_at: Schema.NullOr(Schema.Int),
  resolved_reason: Schema.NullOr(StoredText)
})
const decodeLetters = rowDecoder(LetterRow, "dead letters")
const decodeReadable = readableRows(LetterRow, "dead letters")

const letterOf = ({
  resolved_at,
  resolved_by,
  resolved_reason,
  ...letter
}: typeof LetterRow.Type): DeadLetter => ({
  ...letter,
  ...(resolved_by === null ? undefined : { resolved_by }),
  ...(resolved_at === null ? undefined : { resolved_at }),
  ...(resolved_reason === null ? undefined : { resolved_reason })
})

const columns = (sql: SqlClient.SqlClient) => sql`
  d.event_id::text AS event_id, d.tenant, d.handler_name, d.key, d.payload, d.attempts,
  concat('[', array_to_string(d.failures, ','), ']') AS failures, d.dead_at::float8 AS dead_at, d.status,
  d.resolved_by, d.resolved_at::float8 AS resolved_at, d.resolved_reason`

/** The letters after `after`, newest first. */
const lettersBehind = (
  sql: SqlClient.SqlClient,
  { after, dead_from, dead_to, handler_name, limit, status = "dead", tenant }: DeadLetterQuery
) => {
  const behind =
    after === undefined
      ? sql``
      : sql`AND (d.dead_at, d.place) < (SELECT a.dead_at, a.place FROM troupe.dead_letters a
          WHERE a.event_id = ${after}::uuid AND a.tenant = ${tenant}::text)`
  return sql<SqlConnection.Row>`
    SELECT ${columns(sql)} FROM troupe.dead_letters d
    WHERE d.tenant = ${tenant}::text
      AND d.status = ${letterCode(status)}::int2
      AND (${handler_name ?? null}::text IS NULL OR d.handler_name = ${handler_name ?? null}::text)
      AND d.dead_at >= ${Math.ceil(dead_from ?? 0)}::int8
      AND d.dead_at <= ${Math.floor(dead_to ?? Number.MAX_SAFE_INTEGER)}::int8
      ${behind}
    ORDER BY d.dead_at DESC, d.place DESC
    LIMIT ${limit}::int4`
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  return OutboxReader.of({
    deadLetters: (query) =>
      readablePage({
        limit: Math.max(0, Math.min(query.limit, page_max)),
        after: query.after,
        rowsOf: (after, limit) =>
          Effect.mapError(
            reads.of(query.tenant)(lettersBehind(sql, { ...query, after, limit })),
            orStoreError
          ),
        read: (rows) => Effect.map(decodeReadable(rows), (read) => read.map(letterOf)),
        keyOf: (row) => row["event_id"]
      }).pipe(Effect.withSpan("OutboxReader.deadLetters")),
    deadLetter: Effect.fn("OutboxReader.deadLetter")(function* (tenant, event_id) {
      if (!isEventId(event_id)) return yield* new DeadLetterNotFound({ event_id })
      const rows = yield* reads.of(tenant)(sql`
        SELECT ${columns(sql)} FROM troupe.dead_letters d
        WHERE d.event_id = ${event_id}::uuid AND d.tenant = ${tenant}::text`)
      const [row] = yield* decodeLetters(rows)
      if (row === undefined) return yield* new DeadLetterNotFound({ event_id })
      return letterOf(row)
    }, Effect.mapError(orStoreError))
  })
})

export const layer: Layer.Layer<OutboxReader, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(OutboxReader, make)
