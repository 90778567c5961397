import { assert } from "@effect/vitest"
import { Effect, Logger, Result } from "effect"
import { SqlClient } from "effect/sql"
import { RunJournal } from "../../services/RunJournal.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import { onBothEngines } from "./Engines.ts"

const silent = Effect.provide(Logger.layer([]))
const hosted = [Samples.newTask().address.agent]

/** What nobody but somebody who reaches the database writes: no conversation has such a name. */
const spoilHead = (run: RunId) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(`UPDATE troupe.run_details SET conversation = 'no name' WHERE run_id = $1::uuid`, [
      run
    ])
  )

onBothEngines("a row that cannot be read", (it) => {
  it.effect("is left out of a recovery, which gives the other runs", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const spoilt = yield* Samples.begin()
      const whole = yield* Samples.begin()
      yield* spoilHead(spoilt.run)
      const found = (yield* journal.recoverable("anybody", hosted, 1_000)).map(
        ({ run_id }) => run_id
      )
      assert.include(found, whole.run)
      assert.notInclude(found, spoilt.run)
    }).pipe(silent)
  )

  it.effect("is an error of the journal where the run itself is asked for", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const { run } = yield* Samples.begin()
      yield* spoilHead(run)
      const error = yield* Effect.flip(journal.head(run))
      assert.strictEqual(error._tag, "JournalError")
      assert.strictEqual(error.message, "heads of runs cannot be read")
    })
  )

  it.effect("fails its own claim, and none of those that shared the statement", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const begun = yield* Effect.all([Samples.begin(), Samples.begin(), Samples.begin()])
      const spoilt = begun[1].run
      yield* spoilHead(spoilt)
      const claims = yield* Effect.forEach(
        begun,
        ({ fence, run }) => Effect.result(journal.claim(run, "another", fence.epoch)),
        { concurrency: "unbounded" }
      )
      for (const [index, { run }] of begun.entries()) {
        const claim = claims[index]
        assert.isDefined(claim)
        assert.strictEqual(Result.isFailure(claim), run === spoilt)
      }
    })
  )

  it.effect("is an error of the store where a task has a status that nobody knows", () =>
    Effect.gen(function* () {
      const { run } = yield* Samples.begin()
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe(`UPDATE troupe.agent_tasks SET status = 42 WHERE id = $1::uuid`, [run])
      const error = yield* Effect.flip((yield* TaskStore).get(run))
      assert.strictEqual(error.message, "tasks cannot be read")
    })
  )
})
