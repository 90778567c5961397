/**
 * How messages get into the outbox's tables. Private to this room. A transaction that changes a key's messages locks the key's row,
 * and takes it before any message's: the relay's claim does so too, and the other order would deadlock with it.
 *
 * A session keeps the plans of these statements, and may have made them while there were few messages: `OFFSET 0` keeps an
 * EXISTS a probe of an index, where it could be a join that reads a whole table, and arrays
 * beside a join with the keys let that join begin with a probe as well.
 */
import { Clock, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { DeadLetterStatus, NewOutboxMessage } from "../../../src/delivery/Outbox.ts"
import { MessageId } from "../../../src/Ids.ts"
import { storedStatus } from "../engine/StoredStatus.ts"

/** The channel of the outbox's wakeups, which have no payload. */
export const outbox_channel = "troupe_outbox"

/** A number is never given a second meaning. */
const letterCodes: Readonly<Record<DeadLetterStatus, number>> = {
  dead: 0,
  replayed: 1,
  discarded: 2
}
export const letterCode = (status: DeadLetterStatus): number => letterCodes[status]
export const StoredLetterStatus = storedStatus(letterCodes)

/** Anything else would be refused by the column's type, and is no letter's id. */
export const isEventId = Schema.is(MessageId)

const distinct = (messages: ReadonlyArray<NewOutboxMessage>): ReadonlyArray<NewOutboxMessage> => {
  const byId = new Map<string, NewOutboxMessage>()
  for (const message of messages) if (!byId.has(message.id)) byId.set(message.id, message)
  return [...byId.values()]
}

/** Locks the keys' rows, always in the same order, and makes those that are missing. */
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
 * Puts messages at the end of their keys, in the order given, and wakes. An id that waits already is left alone, and so
 * is one that is a dead letter unless it is replayed: then it takes its failures along. Joins the ambient transaction.
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
  // A statement of its own: the next one has a snapshot that is younger than the locks.
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
        due_at = CASE WHEN k.pending = 0 THEN ${now}::int8 ELSE k.due_at END,
        place = CASE WHEN k.pending = 0 THEN c.place ELSE k.place END,
        topic = CASE WHEN k.pending = 0 THEN c.topic ELSE k.topic END,
        agent = CASE WHEN k.pending = 0 THEN c.agent ELSE k.agent END
      FROM c WHERE k.tenant = c.tenant AND k.key = c.key
        AND k.tenant = ANY (${[...new Set(tenants)]}::text[]) AND k.key = ANY (${keys}::text[])
      RETURNING k.tenant, k.key, k.seq - c.n AS base
    )
    INSERT INTO troupe.outbox (tenant, key, key_seq, id, place, topic, agent, payload, created_at, replayed, failures)
    SELECT f.tenant, f.key, c.base + f.n, f.id, f.place, f.topic, f.agent, f.payload, ${now}::int8, ${replayed}::boolean,
      coalesce((SELECT d.failures FROM troupe.dead_letters d WHERE d.event_id = f.id), '{}')
    FROM fresh f JOIN counted c ON c.tenant = f.tenant AND c.key = f.key
    RETURNING 1 AS put`
  if (rows.length > 0) yield* sql`SELECT pg_notify(${outbox_channel}::text, '')`
  if (rows.length === messages.length) return
  yield* sql`
    DELETE FROM troupe.outbox_keys k USING unnest(${tenants}::text[], ${keys}::text[]) AS t(tenant, key)
    WHERE k.tenant = t.tenant AND k.key = t.key AND k.pending = 0`
})
