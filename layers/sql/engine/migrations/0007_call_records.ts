/**
 * Records of calls, apart from the journal. The record is JSON text; what it is found by stands beside it.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `CREATE TABLE troupe.call_records (
    place int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    tenant text NOT NULL,
    run_id uuid NOT NULL,
    tool_name text NOT NULL,
    ended_at int8 NOT NULL,
    record text NOT NULL
  )`,
  `CREATE INDEX call_records_run ON troupe.call_records (run_id, place)`,
  `CREATE INDEX call_records_tool ON troupe.call_records (tenant, tool_name, place DESC)`,
  `CREATE INDEX call_records_age ON troupe.call_records (tenant, ended_at)`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
