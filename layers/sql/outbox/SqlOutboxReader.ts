/**
 * Reads dead letters, and what waits to be delivered, in PostgreSQL.
 */
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import type { DeadLetterQuery } from "../../../services/OutboxReader.ts"
import { OutboxReader } from "../../../services/OutboxReader.ts"
import type { DeadLetter } from "../../../src/delivery/OutboxMessage.ts"
import { DeadLetterNotFound, DeliveryFailure } from "../../../src/delivery/OutboxMessage.ts"
import { bulk_max, counted_max } from "../../../src/operation/Page.ts"
import { MessageId, Tenant } from "../../../src/value/Ids.ts"
import { letterCode, StoredLetterStatus } from "../engine/StoredStatus.ts"
import { isEventId } from "./OutboxRows.ts"
import { readablePage, readableRows, rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { StoredText } from "../engine/StoredText.ts"
import { TenantReads } from "../engine/TenantReads.ts"

const page_max = 500
/** One more than a bulk takes, which tells that there are more. */
const matching_max = bulk_max + 1

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
const decodeIds = rowDecoder(Schema.Struct({ event_id: MessageId }), "ids of dead letters")
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

/**
 * Of the JSON of a failure, what stands in it if its error begins with this text. Within a text of JSON no quote stands bare, so
 * that nothing else in it is the same.
 */
const beginsWith = (error: string): string => `,"error":"${JSON.stringify(error).slice(1, -1)}`

/** The letters after `after`, newest first. */
const lettersBehind = (
  sql: SqlClient.SqlClient,
  query: DeadLetterQuery,
  selected: ReturnType<typeof columns>
) => {
  const { after, dead_from, dead_to, error, handler_name, key, limit, tenant } = query
  const { status = "dead" } = query
  const behind =
    after === undefined
      ? sql``
      : sql`AND (d.dead_at, d.place) < (SELECT a.dead_at, a.place FROM troupe.dead_letters a
          WHERE a.event_id = ${after}::uuid AND a.tenant = ${tenant}::text)`
  return sql<SqlConnection.Row>`
    SELECT ${selected} FROM troupe.dead_letters d
    WHERE d.tenant = ${tenant}::text
      AND d.status = ${letterCode(status)}::int2
      AND (${handler_name ?? null}::text IS NULL OR d.handler_name = ${handler_name ?? null}::text)
      AND (${key ?? null}::text IS NULL OR d.key = ${key ?? null}::text)
      AND (${error ?? null}::text IS NULL
        OR strpos(d.failures[cardinality(d.failures)], ${beginsWith(error ?? "")}::text) > 0)
      AND d.dead_at >= ${Math.ceil(dead_from ?? 0)}::int8
      AND d.dead_at <= ${Math.floor(dead_to ?? Number.MAX_SAFE_INTEGER)}::int8
      ${behind}
    ORDER BY d.dead_at DESC, d.place DESC
    LIMIT ${limit}::int4`
}

const decodeUndelivered = rowDecoder(
  Schema.Struct({
    topic: Schema.String,
    count: Schema.Int,
    failed: Schema.Int,
    oldest_at: Schema.Number,
    last_failure: Schema.NullOr(Schema.String)
  }),
  "counts of messages"
)
const readFailure = Schema.decodeUnknownOption(Schema.fromJsonString(DeliveryFailure))

/** The member of a failure's canonical JSON by which the last one of a topic is found. */
const failed_at = `substring(x.failure FROM '^\\{"at":([0-9]{1,15}),')::int8`

const waiting = (sql: SqlClient.SqlClient, tenant: Tenant) => sql`
  SELECT o.topic, o.created_at, o.failures[cardinality(o.failures)] AS failure FROM troupe.outbox o
  WHERE o.tenant = ${tenant}::text LIMIT ${counted_max + 1}::int4`

const dead = (sql: SqlClient.SqlClient, tenant: Tenant) => sql`
  SELECT d.handler_name AS topic, d.dead_at AS created_at, d.failures[cardinality(d.failures)] AS failure FROM troupe.dead_letters d
  WHERE d.tenant = ${tenant}::text AND d.status = ${letterCode("dead")}::int2
  ORDER BY d.dead_at DESC, d.place DESC LIMIT ${counted_max + 1}::int4`

const undelivered = (sql: SqlClient.SqlClient, from: ReturnType<typeof waiting>) => sql`
  SELECT x.topic, count(*)::int4 AS count, count(x.failure)::int4 AS failed, min(x.created_at)::float8 AS oldest_at,
    (array_agg(x.failure ORDER BY ${sql.literal(failed_at)} DESC NULLS LAST))[1] AS last_failure
  FROM (${from}) x GROUP BY x.topic ORDER BY x.topic COLLATE "C"`

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
            reads.of(query.tenant)(lettersBehind(sql, { ...query, after, limit }, columns(sql))),
            orStoreError
          ),
        read: (rows) => Effect.map(decodeReadable(rows), (read) => read.map(letterOf)),
        keyOf: (row) => row["event_id"]
      }).pipe(Effect.withSpan("OutboxReader.deadLetters")),
    matching: Effect.fn("OutboxReader.matching")(function* (query) {
      const limit = Math.min(query.limit, matching_max)
      const found = lettersBehind(sql, { ...query, limit }, sql`d.event_id::text AS event_id`)
      const rows = yield* decodeIds(yield* reads.of(query.tenant)(found))
      return rows.map(({ event_id }) => event_id)
    }, Effect.mapError(orStoreError)),
    undelivered: Effect.fn("OutboxReader.undelivered")(function* (tenant, which = "waiting") {
      const from = which === "dead" ? dead(sql, tenant) : waiting(sql, tenant)
      const rows = yield* decodeUndelivered(yield* reads.of(tenant)(undelivered(sql, from)))
      return rows.map(({ last_failure, ...row }) => ({
        ...row,
        last_failure: Option.getOrUndefined(readFailure(last_failure))
      }))
    }, Effect.mapError(orStoreError)),
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
