/**
 * Removes messages from the outbox in the ambient transaction, even those that a relay has claimed. A relay that is delivering
 * one finds afterwards that it no longer holds it. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { Tenant } from "../../../src/value/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { outbox_channel } from "./OutboxRows.ts"

const decodeKeys = rowDecoder(Schema.Struct({ key: Schema.String }), "keys of messages")

/** Removes the tenant's messages with these ids. Gives how many were removed. */
export const removeMessages = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  ids: ReadonlyArray<string>
) {
  // Key rows are locked before messages and in the order of the keys, as everywhere.
  const keys = yield* Effect.flatMap(
    sql.unsafe(
      `SELECT k.key FROM troupe.outbox_keys k WHERE k.tenant = $1::text AND k.key IN (
         SELECT o.key FROM troupe.outbox o WHERE o.id = ANY ($2::text[]::uuid[])) ORDER BY k.key FOR UPDATE`,
      [tenant, ids]
    ),
    decodeKeys
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
