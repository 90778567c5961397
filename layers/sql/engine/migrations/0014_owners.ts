/**
 * Owners that hold a lock in a session of their process, so that others see at once when they are gone. One without such
 * a lock (of an earlier release, or whose session could not be made) is judged by its lease alone.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(
    `ALTER TABLE troupe.processes ADD COLUMN guarded boolean NOT NULL DEFAULT false`
  )
})
