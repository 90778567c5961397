/** A database that fails between the append's statement and the one that says why a part of it was refused. */
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { JournalError, RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as Samples from "../contracts/Samples.ts"
import { migratedLayer } from "./Engines.ts"

/** The start of the statement that reads why appends were refused. */
const asks_why = "SELECT run_id, epoch, length, status FROM troupe.runs WHERE run_id = ANY"

let isCut = false
let appends = 0

/** The database, which answers that statement with a lost connection while it is cut. */
const faulty = Layer.effect(
  SqlClient.SqlClient,
  Effect.map(
    SqlClient.SqlClient,
    (sql) =>
      new Proxy(sql, {
        get: (target, name) => {
          if (name !== "unsafe") return Reflect.get(target, name) as unknown
          return (text: string, params?: ReadonlyArray<unknown>) => {
            if (isCut && text.includes("troupe.append_")) appends++
            if (!isCut || !text.startsWith(asks_why)) return target.unsafe(text, params)
            const props = { cause: new Error("cut"), message: "cut", operation: "query" }
            return Effect.fail(
              new SqlError.SqlError({ reason: new SqlError.ConnectionError(props) })
            )
          }
        }
      })
  )
).pipe(Layer.provideMerge(migratedLayer))

layer(Layer.provideMerge(SqlStores.layer, faulty), {
  excludeTestServices: true,
  timeout: "2 minutes"
})("a database that is lost before it says why it refused", (it) => {
  it.effect("leaves both appends of the batch unknown, and writes the good one once", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const [first, good, stale] = [
        yield* Samples.begin(),
        yield* Samples.begin(),
        yield* Samples.begin()
      ]
      yield* journal.append(stale.next(Samples.modelTurned(1)))
      isCut = true
      // The first is written alone, and those that come meanwhile share the next batch.
      const exits = yield* Effect.forEach(
        [first, good, stale],
        (begun) => Effect.exit(journal.append(begun.next(Samples.modelTurned(1)))),
        { concurrency: "unbounded" }
      )
      isCut = false
      assert.isTrue(Exit.isSuccess(exits[0]!))
      for (const exit of exits.slice(1)) {
        const [reason] = Exit.isFailure(exit) ? exit.cause.reasons : []
        const error = reason?._tag === "Fail" ? reason.error : undefined
        assert.instanceOf(error, JournalError)
        assert.isTrue(error instanceof JournalError && error.lost)
      }
      assert.strictEqual(appends, 2)
      const turns = (yield* reader.read(good.run, 0, 100)).filter(
        ({ event }) => event._tag === "ModelTurned"
      )
      assert.lengthOf(turns, 1)
    })
  )
})
