/**
 * What workers offer to run, for as long as they say so, and when a call's worker began to act. Times are ms since 1970;
 * `tools` is the JSON text of their specs.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // Beside "begun", so that a worker of an earlier release goes on while this one starts.
  `ALTER TABLE troupe.tool_messages ADD COLUMN begun_at int8`,
  `CREATE TABLE troupe.tool_workers (
    worker text PRIMARY KEY,
    provider text NOT NULL,
    keys text[] NOT NULL,
    tools text NOT NULL,
    expires_at int8 NOT NULL
  ) WITH (fillfactor = 70)`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
