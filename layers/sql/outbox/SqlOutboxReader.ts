/**
 * Dead letters in PostgreSQL, to be read.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { OutboxReader } from "../../../services/OutboxReader.ts"
import type { DeadLetter, DeadLetterStatus, DeliveryFailure } from "../../../src/delivery/Outbox.ts"
import { DeadLetterNotFound } from "../../../src/delivery/Outbox.ts"
import { MessageId, Tenant } from "../../../src/Ids.ts"
import { isEventId, letterCode, letterStatus } from "./OutboxRows.ts"
import { toStoreError } from "../engine/SqlFailure.ts"

const page_max = 500

interface LetterRow {
  readonly event_id: string
  readonly tenant: string
  readonly handler_name: string
  readonly key: string
  readonly payload: string
  readonly attempts: number
  readonly failures: string
  readonly dead_at: number
  readonly status: number
  readonly resolved_by: string | null
  readonly resolved_at: number | null
  readonly resolved_reason: string | null
}

const letterOf = (row: LetterRow): DeadLetter => ({
  event_id: MessageId.make(row.event_id),
  tenant: Tenant.make(row.tenant),
  handler_name: row.handler_name,
  key: row.key,
  payload: JSON.parse(row.payload) as DeadLetter["payload"],
  attempts: row.attempts,
  failures: JSON.parse(row.failures) as ReadonlyArray<DeliveryFailure>,
  dead_at: row.dead_at,
  status: letterStatus(row.status),
  ...(row.resolved_by === null
    ? undefined
    : { resolved_by: JSON.parse(row.resolved_by) as string }),
  ...(row.resolved_at === null ? undefined : { resolved_at: row.resolved_at }),
  ...(row.resolved_reason === null
    ? undefined
    : { resolved_reason: JSON.parse(row.resolved_reason) as string })
})

const columns = (sql: SqlClient.SqlClient) => sql`
  d.event_id::text AS event_id, d.tenant, d.handler_name, d.key, d.payload, d.attempts,
  concat('[', array_to_string(d.failures, ','), ']') AS failures, d.dead_at::float8 AS dead_at, d.status,
  d.resolved_by, d.resolved_at::float8 AS resolved_at, d.resolved_reason`

const make = Effect.map(SqlClient.SqlClient, (sql) =>
  OutboxReader.of({
    deadLetters: Effect.fn("OutboxReader.deadLetters")(function* (query) {
      const status: DeadLetterStatus = query.status ?? "dead"
      const rows = yield* sql<LetterRow>`
        SELECT ${columns(sql)} FROM troupe.dead_letters d
        WHERE d.tenant = ${query.tenant}::text
          AND d.status = ${letterCode(status)}::int2
          AND (${query.handler_name ?? null}::text IS NULL OR d.handler_name = ${query.handler_name ?? null}::text)
          AND d.dead_at >= ${Math.ceil(query.dead_from ?? 0)}::int8
          AND d.dead_at <= ${Math.floor(query.dead_to ?? Number.MAX_SAFE_INTEGER)}::int8
        ORDER BY d.dead_at DESC, d.place DESC
        LIMIT ${Math.max(0, Math.min(query.limit, page_max))}::int4`
      return rows.map(letterOf)
    }, Effect.mapError(toStoreError)),
    deadLetter: Effect.fn("OutboxReader.deadLetter")(function* (tenant, event_id) {
      if (!isEventId(event_id)) return yield* new DeadLetterNotFound({ event_id })
      const [row] = yield* sql<LetterRow>`
        SELECT ${columns(sql)} FROM troupe.dead_letters d
        WHERE d.event_id = ${event_id}::uuid AND d.tenant = ${tenant}::text`.pipe(
        Effect.mapError(toStoreError)
      )
      if (row === undefined) return yield* new DeadLetterNotFound({ event_id })
      return letterOf(row)
    })
  })
)

export const layer: Layer.Layer<OutboxReader, never, SqlClient.SqlClient> = Layer.effect(
  OutboxReader,
  make
)
