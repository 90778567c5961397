/**
 * The transactional queue in PostgreSQL. A key is claimed by its row, locked with SKIP LOCKED, and only its first message
 * is taken; the lease is the key's `due_at` and the message's `lease_owner`.
 */
import { Clock, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "../../services/Outbox.ts"
import type { OutboxClaim } from "../../services/Outbox.ts"
import type { OutboxMessage } from "../../src/delivery/Outbox.ts"
import { MessageId, Tenant } from "../../src/Ids.ts"
import { outbox_channel, put } from "./OutboxRows.ts"
import { toStoreError } from "./SqlFailure.ts"
import { SqlNotify } from "./SqlNotify.ts"

const claim_max = 500
const error_max = 500
/** Failures that are kept of one message, the newest. */
const failures_max = 100

interface MessageRow {
  readonly id: string
  readonly tenant: string
  readonly key: string
  readonly key_seq: number
  readonly topic: string
  readonly payload: string
  readonly attempts: number
  readonly created_at: number
  readonly replayed: boolean
}

const messageOf = (row: MessageRow): OutboxMessage => ({
  id: MessageId.make(row.id),
  tenant: Tenant.make(row.tenant),
  key: row.key,
  key_seq: row.key_seq,
  topic: row.topic,
  payload: JSON.parse(row.payload) as OutboxMessage["payload"],
  attempts: row.attempts,
  created_at: row.created_at,
  replayed: row.replayed
})

/**
 * One statement. A head that was removed between its snapshot and the key's lock is not updated, and its key not leased:
 * the next look finds the next message. A key that another claim took in between is judged again by its new `due_at`.
 */
const take = (sql: SqlClient.SqlClient, claim: OutboxClaim, now: number) => sql<MessageRow>`
  WITH head AS MATERIALIZED (
    SELECT k.tenant, k.key, h.id
    FROM troupe.outbox_keys k
    CROSS JOIN LATERAL (
      SELECT o.id, o.topic FROM troupe.outbox o
      WHERE o.tenant = k.tenant AND o.key = k.key ORDER BY o.key_seq LIMIT 1
    ) h
    WHERE k.due_at <= ${now}::int8 AND h.topic = ANY(${claim.topics}::text[])
    ORDER BY k.place
    LIMIT ${Math.max(0, Math.min(claim.limit, claim_max))}::int4
    FOR UPDATE OF k SKIP LOCKED
  ), taken AS (
    UPDATE troupe.outbox o SET attempts = o.attempts + 1, lease_owner = ${claim.owner}::text
    FROM head h WHERE o.id = h.id
    RETURNING o.*
  ), leased AS (
    UPDATE troupe.outbox_keys k SET due_at = ${now + claim.lease_ms}::int8
    FROM taken t WHERE k.tenant = t.tenant AND k.key = t.key
  )
  SELECT id::text AS id, tenant, key, key_seq, topic, payload, attempts, created_at::float8 AS created_at, replayed
  FROM taken ORDER BY place`

/** The key of a message that this owner holds, locked, with its figures as they are under the lock. */
const held = (sql: SqlClient.SqlClient, id: MessageId, owner: string) => sql`
  k AS MATERIALIZED (
    SELECT k.tenant, k.key, k.pending FROM troupe.outbox_keys k
    JOIN troupe.outbox o ON o.tenant = k.tenant AND o.key = k.key
    WHERE o.id = ${id}::uuid AND o.lease_owner = ${owner}::text
    FOR UPDATE OF k
  )`

/** Takes the message out and frees its key: for its next message, or altogether. */
const removed = (sql: SqlClient.SqlClient, id: MessageId, owner: string, now: number) => sql`
  gone AS (
    DELETE FROM troupe.outbox o USING k WHERE o.id = ${id}::uuid AND o.lease_owner = ${owner}::text
    RETURNING o.*, k.pending
  ), freed AS (
    UPDATE troupe.outbox_keys x SET
      pending = x.pending - 1,
      due_at = ${now}::int8,
      place = coalesce(
        (SELECT o.place FROM troupe.outbox o
         WHERE o.tenant = g.tenant AND o.key = g.key AND o.key_seq > g.key_seq ORDER BY o.key_seq LIMIT 1),
        x.place)
    FROM gone g WHERE x.tenant = g.tenant AND x.key = g.key AND g.pending > 1
  ), emptied AS (
    DELETE FROM troupe.outbox_keys x USING gone g
    WHERE x.tenant = g.tenant AND x.key = g.key AND g.pending = 1
  )`

/** A message's failures with one more, as JSON texts, the newest hundred. */
const failuresWith = (sql: SqlClient.SqlClient, error: string, now: number) => sql`
  (o.failures || concat(
    '{"at":', ${now}::int8, ',"attempt":', o.attempts, ',"error":', ${JSON.stringify(error.slice(0, error_max))}::text, '}'
  ))[greatest(1, cardinality(o.failures) + 2 - ${failures_max}::int4):]`

const retry = (
  sql: SqlClient.SqlClient,
  id: MessageId,
  owner: string,
  error: string,
  retry_at: number,
  now: number
) => sql`
  WITH ${held(sql, id, owner)}, kept AS (
    UPDATE troupe.outbox o SET lease_owner = NULL, failures = ${failuresWith(sql, error, now)}
    FROM k WHERE o.id = ${id}::uuid AND o.lease_owner = ${owner}::text
    RETURNING o.tenant, o.key
  ), freed AS (
    UPDATE troupe.outbox_keys x SET due_at = ${retry_at}::int8
    FROM kept g WHERE x.tenant = g.tenant AND x.key = g.key
  )
  SELECT 1 AS held FROM kept`

const bury = (
  sql: SqlClient.SqlClient,
  id: MessageId,
  owner: string,
  error: string,
  now: number
) => sql`
  WITH ${held(sql, id, owner)}, ${removed(sql, id, owner, now)}
  INSERT INTO troupe.dead_letters
    (event_id, tenant, handler_name, key, payload, attempts, failures, dead_at, place)
  SELECT o.id, o.tenant, o.topic, o.key, o.payload, o.attempts, ${failuresWith(sql, error, now)}, ${now}::int8,
    nextval('troupe.outbox_place')
  FROM gone o
  -- One that died before is the newest again, and open.
  ON CONFLICT (event_id) DO UPDATE SET
    attempts = excluded.attempts, failures = excluded.failures, dead_at = excluded.dead_at, place = excluded.place,
    status = 0, resolved_by = NULL, resolved_at = NULL, resolved_reason = NULL
  RETURNING 1 AS held`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const notify = yield* SqlNotify
  return Outbox.of({
    enqueue: Effect.fn("Outbox.enqueue")(
      (messages) => sql.withTransaction(put(sql, messages, false)),
      Effect.mapError(toStoreError)
    ),
    claim: Effect.fn("Outbox.claim")(function* (claim) {
      const now = yield* Clock.currentTimeMillis
      return (yield* take(sql, claim, now)).map(messageOf)
    }, Effect.mapError(toStoreError)),
    delivered: Effect.fn("Outbox.delivered")(function* (id, owner) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* sql`
        WITH ${held(sql, id, owner)}, ${removed(sql, id, owner, now)} SELECT 1 AS held FROM gone`
      return rows.length > 0
    }, Effect.mapError(toStoreError)),
    failed: Effect.fn("Outbox.failed")(function* (id, owner, error, retry_at) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* retry_at === undefined
        ? bury(sql, id, owner, error, now)
        : retry(sql, id, owner, error, retry_at, now)
      return rows.length > 0
    }, Effect.mapError(toStoreError)),
    depth: sql<{ readonly n: number }>`SELECT count(*)::int4 AS n FROM troupe.outbox`.pipe(
      Effect.map((rows) => rows[0]!.n),
      Effect.mapError(toStoreError)
    ),
    nextDueAt: sql<{ readonly due_at: number | null }>`
      SELECT min(due_at)::float8 AS due_at FROM troupe.outbox_keys`.pipe(
      Effect.map((rows) => rows[0]!.due_at ?? undefined),
      Effect.mapError(toStoreError)
    ),
    written: (listener) =>
      Effect.mapError(
        notify.listen(outbox_channel, () => listener()),
        toStoreError
      )
  })
})

export const layer: Layer.Layer<Outbox, never, SqlClient.SqlClient | SqlNotify> = Layer.effect(
  Outbox,
  make
)
