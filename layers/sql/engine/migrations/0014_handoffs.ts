/**
 * Handoffs of a run, for lists by agent. A run has few, and most have none; without the index a list would read all events of
 * the runs that it passes.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const handoffs = `CREATE INDEX run_events_handoffs ON troupe.run_events (run_id, seq) WHERE type = 'HandedOff'`

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(handoffs)
})
