/**
 * Tenants whose tools are stopped.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `CREATE TABLE troupe.tool_stops (
    tenant text PRIMARY KEY,
    -- Since when, in ms since 1970.
    at int8 NOT NULL
  )`,
  `ALTER TABLE troupe.tool_stops ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY of_tenant ON troupe.tool_stops FOR SELECT
    USING (tenant = current_setting('troupe.tenant', true))`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
