import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"

onEngines("a transactional body", (it) => {
  it.effect("that hides a failed statement has failed, and its event says so", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const sql = yield* SqlClient.SqlClient
      const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
      const exits: Array<Exit.Exit<unknown, unknown>> = []
      // PostgreSQL refuses everything after a failed statement, until it is rolled back.
      const body = Effect.orElseSucceed(sql.unsafe("SELECT 1/0"), () => "as if nothing were")
      yield* journal.transact(begun.run, begun.fence, body, (exit) => {
        exits.push(exit)
        return begun.next(Samples.callSettled())
      })
      assert.isTrue(Exit.isFailure(exits.at(-1)!))
      assert.strictEqual((yield* reader.head(begun.run)).length, begun.fence.length + 1)
    })
  )
})
