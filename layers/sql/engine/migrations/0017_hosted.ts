/**
 * The agents that a process hosts, so that others can say what nobody does. A process of an earlier release says none.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`ALTER TABLE troupe.processes ADD COLUMN agents text[] NOT NULL DEFAULT '{}'`)
})
