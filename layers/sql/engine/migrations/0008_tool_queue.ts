/**
 * Tool calls on their way to whoever runs them, and their results. Times are ms since 1970; calls, results and texts from
 * outside are JSON text.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // Status: 0 waits or runs, 1 acknowledged, 2 dead. "due_at" is when it may be claimed (again): the try's own time, or
  // the end of the lease.
  `CREATE TABLE troupe.tool_messages (
    id text PRIMARY KEY,
    tool text NOT NULL,
    tenant text NOT NULL,
    payload text NOT NULL,
    expires_at int8 NOT NULL,
    status int2 NOT NULL DEFAULT 0,
    due_at int8 NOT NULL,
    place int8 GENERATED ALWAYS AS IDENTITY,
    deliveries int4 NOT NULL DEFAULT 0,
    owner text,
    begun boolean NOT NULL DEFAULT false,
    result text,
    error text,
    over_at int8
  ) WITH (fillfactor = 70)`,
  `CREATE INDEX tool_messages_due ON troupe.tool_messages (tool, due_at) WHERE status = 0`,
  `CREATE INDEX tool_messages_over ON troupe.tool_messages (status, over_at) WHERE status > 0`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
