/**
 * Runs in quarantine: their journal does not fold. The status of such a run is 100 more than it was, so that every
 * statement that claims, appends, recovers or adopts passes it by as it does one that is over; its details stay open, so
 * that later runs of its address wait.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // `at` is in ms since 1970; `seq` is the first event at fault.
  `CREATE TABLE troupe.quarantine (run_id uuid PRIMARY KEY, tenant text NOT NULL, reason text NOT NULL, seq int4 NOT NULL, at int8 NOT NULL)`,
  `CREATE INDEX quarantine_tenant ON troupe.quarantine (tenant, at, run_id)`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
