/**
 * Writes messages to the outbox's tables. Private to this room. A transaction that changes messages of a key locks the key's row
 * before it locks any message; the relay's claim does the same, and the other order would deadlock with it.
 *
 * A session caches the plans of these statements, and may have made them while there were few messages. `OFFSET 0` makes an
 * EXISTS a probe of an index, where it could be a join that reads a whole table. Arrays beside a join with the keys let that join
 * begin with a probe as well.
 */
import { Clock, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { NewOutboxMessage } from "../../../src/delivery/OutboxMessage.ts"
import { MessageId } from "../../../src/value/Ids.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { rowReader } from "../engine/DecodedRows.ts"
import { dueAt } from "../engine/DueTime.ts"

/** The notification channel of the outbox. Its notifications have no payload. */
export const outbox_channel = "troupe_outbox"

/** Whether a text may be a letter's id. The column's type would refuse any other text with an error. */
export const isEventId = Schema.is(MessageId)

const distinct = (messages: ReadonlyArray<NewOutboxMessage>): ReadonlyArray<NewOutboxMessage> => {
  const byId = new Map<string, NewOutboxMessage>()
  for (const message of messages) if (!byId.has(message.id)) byId.set(message.id, message)
  return [...byId.values()]
}

/** Locks the rows of the keys, always in the same order, and creates those that are missing. */
const lockKeys = (
  sql: SqlClient.SqlClient,
  tenants: ReadonlyArray<string>,
  keys: ReadonlyArray<string>
) => sql`
  INSERT INTO troupe.outbox_keys (tenant, key)
  SELECT DISTINCT t.tenant, t.key FROM unnest(${tenants}::text[], ${keys}::text[]) AS t(tenant, key)
  ORDER BY t.tenant, t.key
  ON CONFLICT (tenant, key) DO UPDATE SET seq = outbox_keys.seq`

/**
 * Appends messages to the queues of their keys, in the given order, and notifies the relays. It skips a message whose id is in
 * the outbox already. It also skips one that is a dead letter, unless `replayed`: then the message takes over the letter's
 * failures. Joins the ambient transaction.
 */
export const put = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  given: ReadonlyArray<NewOutboxMessage>,
  replayed: boolean
) {
  if (given.length === 0) return
  const now = yield* Clock.currentTimeMillis
  const messages = distinct(given)
  const tenants = messages.map((message) => message.tenant)
  const keys = messages.map((message) => message.key)
  // The locks are a statement of their own, so that the snapshot of the next one is younger than the locks.
  yield* lockKeys(sql, tenants, keys)
  const rows = yield* sql`
    WITH fresh AS MATERIALIZED (
      SELECT g.*, nextval('troupe.outbox_place') AS place FROM (
        SELECT t.*, (row_number() OVER (PARTITION BY t.tenant, t.key ORDER BY t.i))::int4 AS n
        FROM unnest(
          ${messages.map((message) => message.id)}::text[]::uuid[], ${tenants}::text[], ${keys}::text[],
          ${messages.map((message) => message.topic)}::text[],
          ${messages.map((message) => message.agent ?? "")}::text[],
          ${messages.map((message) => JSON.stringify(message.payload))}::text[]
        ) WITH ORDINALITY AS t(id, tenant, key, topic, agent, payload, i)
        WHERE NOT EXISTS (SELECT FROM troupe.outbox o WHERE o.id = t.id OFFSET 0)
          AND (${replayed}::boolean OR NOT EXISTS (SELECT FROM troupe.dead_letters d WHERE d.event_id = t.id OFFSET 0))
        ORDER BY t.i
      ) g
    ), c AS MATERIALIZED (
      SELECT f.tenant, f.key, count(*)::int4 AS n, min(f.place) AS place,
        (array_agg(f.topic ORDER BY f.place))[1] AS topic, (array_agg(f.agent ORDER BY f.place))[1] AS agent
      FROM fresh f GROUP BY f.tenant, f.key
    ), counted AS (
      UPDATE troupe.outbox_keys k SET
        seq = k.seq + c.n,
        pending = k.pending + c.n,
        due_at = CASE WHEN k.pending = 0 THEN ${dueAt(sql, now)} ELSE k.due_at END,
        place = CASE WHEN k.pending = 0 THEN c.place ELSE k.place END,
        topic = CASE WHEN k.pending = 0 THEN c.topic ELSE k.topic END,
        agent = CASE WHEN k.pending = 0 THEN c.agent ELSE k.agent END
      FROM c WHERE k.tenant = c.tenant AND k.key = c.key
        AND k.tenant = ANY (${[...new Set(tenants)]}::text[]) AND k.key = ANY (${keys}::text[])
      RETURNING k.tenant, k.key, k.seq - c.n AS base
    )
    INSERT INTO troupe.outbox (tenant, key, key_seq, id, place, topic, agent, payload, created_at, replayed, failures)
    SELECT f.tenant, f.key, c.base + f.n, f.id, f.place, f.topic, f.agent, f.payload, ${dueAt(sql, now)}, ${replayed}::boolean,
      coalesce((SELECT d.failures FROM troupe.dead_letters d WHERE d.event_id = f.id), '{}')
    FROM fresh f JOIN counted c ON c.tenant = f.tenant AND c.key = f.key
    RETURNING 1 AS put`
  if (rows.length > 0) yield* sql`SELECT pg_notify(${outbox_channel}::text, '')`
  if (rows.length === messages.length) return
  yield* sql`
    DELETE FROM troupe.outbox_keys k USING unnest(${tenants}::text[], ${keys}::text[]) AS t(tenant, key)
    WHERE k.tenant = t.tenant AND k.key = t.key AND k.pending = 0`
})

const readKeys = rowReader(Schema.Struct({ key: Schema.String }), "keys of messages")

/** Removes the tenant's messages with these ids. Gives how many were removed. */
export const removeMessages = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  ids: ReadonlyArray<string>
) {
  // Key rows are locked before messages and in the order of the keys, as everywhere.
  const keys = yield* readKeys(
    sql,
    `SELECT k.key FROM troupe.outbox_keys k WHERE k.tenant = $1::text AND k.key IN (
       SELECT o.key FROM troupe.outbox o WHERE o.id = ANY ($2::text[]::uuid[])) ORDER BY k.key FOR UPDATE`,
    [tenant, ids]
  )
  const held = keys.map(({ key }) => key)
  const gone = yield* sql.unsafe(
    `DELETE FROM troupe.outbox o WHERE o.tenant = $1::text AND o.key = ANY ($3::text[])
       AND o.id = ANY ($2::text[]::uuid[]) RETURNING 1 AS gone`,
    [tenant, ids, held]
  )
  // Where a key has another first message now, the key is due since that message was written.
  yield* sql.unsafe(
    `UPDATE troupe.outbox_keys k SET pending = n.pending, place = n.place, topic = n.topic, agent = n.agent,
       due_at = CASE WHEN k.place = n.place THEN k.due_at ELSE n.created_at END
     FROM (SELECT DISTINCT ON (o.key) o.key, o.place, o.topic, o.agent, o.created_at,
         (count(*) OVER (PARTITION BY o.key))::int4 AS pending
       FROM troupe.outbox o WHERE o.tenant = $1::text AND o.key = ANY ($2::text[]) ORDER BY o.key, o.key_seq) n
     WHERE k.tenant = $1::text AND k.key = n.key`,
    [tenant, held]
  )
  yield* sql.unsafe(
    `DELETE FROM troupe.outbox_keys k WHERE k.tenant = $1::text AND k.key = ANY ($2::text[])
       AND NOT EXISTS (SELECT FROM troupe.outbox o WHERE o.tenant = k.tenant AND o.key = k.key)`,
    [tenant, held]
  )
  yield* sql.unsafe("SELECT pg_notify($1::text, '')", [outbox_channel])
  return gone.length
})
