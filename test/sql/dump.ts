/**
 * Prints a small database as SQL text: the statements of all migrations and the rows of a runtime that stopped while a
 * run waited for a person. Run it once for each migration that is released, and keep the text beside this file:
 *
 *   node test/sql/dump.ts > test/sql/0001_schema.sql
 */
import { Effect, Layer } from "effect"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as H from "../runtime/Harness.ts"
import * as SqlDump from "./SqlDump.ts"
import * as Waiting from "./Waiting.ts"

const waits = Effect.scoped(
  Effect.gen(function* () {
    const process = yield* H.boot(Waiting.options)
    yield* process.run(Waiting.sent)
    yield* process.stop
  })
).pipe(Effect.provide(Waiting.stores))

const dump = Effect.gen(function* () {
  const schema = yield* SqlDump.migrate
  yield* waits
  const rows = yield* SqlDump.rows
  yield* Effect.sync(() => console.log(SqlDump.textOf([...schema, ...rows])))
})

await Effect.runPromise(Effect.scoped(Effect.provide(dump, Layer.fresh(Pglite.layer()))))
