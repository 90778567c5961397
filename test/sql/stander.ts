/** A process that opens the database of its first argument, and whose engine runs the statement of its second. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"

const [directory, statement] = process.argv.slice(2)

await Effect.runPromise(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    process.stdout.write("begins\n")
    yield* sql.unsafe(statement!)
    process.stdout.write("returned\n")
  }).pipe(Effect.provide(Pglite.layer({ directory, still_ms: 2_000 })))
)
