/**
 * What waits to be delivered, and what could not be. Times are ms since 1970; payloads, failures and texts from outside
 * are JSON text.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // The order in which messages came, over all keys.
  `CREATE SEQUENCE troupe.outbox_place`,
  // One row for each key that has messages: its lock is the lock of the key. "due_at" is when its first message may be
  // claimed (again): the try's own time, or the end of the lease. "place" is that message's.
  `CREATE TABLE troupe.outbox_keys (
    tenant text NOT NULL,
    key text NOT NULL,
    seq int4 NOT NULL DEFAULT 0,
    pending int4 NOT NULL DEFAULT 0,
    due_at int8 NOT NULL DEFAULT 0,
    place int8 NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, key)
  ) WITH (fillfactor = 70)`,
  `CREATE INDEX outbox_keys_place ON troupe.outbox_keys (place)`,
  `CREATE INDEX outbox_keys_due ON troupe.outbox_keys (due_at)`,
  `CREATE TABLE troupe.outbox (
    tenant text NOT NULL,
    key text NOT NULL,
    key_seq int4 NOT NULL,
    id uuid NOT NULL UNIQUE,
    place int8 NOT NULL,
    topic text NOT NULL,
    payload text NOT NULL,
    attempts int4 NOT NULL DEFAULT 0,
    created_at int8 NOT NULL,
    replayed boolean NOT NULL,
    lease_owner text,
    failures text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, key, key_seq)
  )`,
  `CREATE TABLE troupe.dead_letters (
    event_id uuid PRIMARY KEY,
    tenant text NOT NULL,
    handler_name text NOT NULL,
    key text NOT NULL,
    payload text NOT NULL,
    attempts int4 NOT NULL,
    failures text[] NOT NULL,
    dead_at int8 NOT NULL,
    place int8 NOT NULL,
    status int2 NOT NULL DEFAULT 0,
    resolved_by text,
    resolved_at int8,
    resolved_reason text
  )`,
  `CREATE INDEX dead_letters_newest ON troupe.dead_letters (tenant, status, dead_at DESC, place DESC)`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
