import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { stateOf } from "../../layers/sql/engine/SqlFailure.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"

/** Runs a body in the transaction of a run's journal, and gives its exit. */
const transacted = Effect.fnUntraced(function* <A, E>(body: Effect.Effect<A, E>) {
  const journal = yield* RunJournal
  const reader = yield* RunReader
  const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
  const exits: Array<Exit.Exit<A, E>> = []
  yield* journal.transact(begun.run, begun.fence, body, (exit) => {
    exits.push(exit)
    return begun.next(Samples.callSettled())
  })
  assert.strictEqual((yield* reader.head(begun.run)).length, begun.fence.length + 1)
  return exits.at(-1)!
})

/** Everything that a session keeps beyond a transaction. */
const session = `SELECT
  (SELECT string_agg(name || '=' || setting, ',' ORDER BY name) FROM pg_settings WHERE source = 'session') AS settings,
  current_user = session_user AS own, current_setting('search_path') AS path,
  (SELECT string_agg(c, ',' ORDER BY c) FROM pg_listening_channels() AS c) AS channels,
  (SELECT count(*)::int FROM pg_prepared_statements WHERE from_sql) AS prepared,
  (SELECT count(*)::int FROM pg_cursors WHERE is_holdable) AS cursors,
  (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks,
  to_regclass('pg_temp.seen') IS NULL AS clean`

const changes = [
  "SET search_path = nowhere",
  "SET LOCAL work_mem = '1MB'",
  "SELECT set_config('lock_timeout', '1', false)",
  "DO $$ BEGIN EXECUTE 'SET statement_timeout = 1234'; END $$",
  "PREPARE mine AS SELECT 1",
  "LISTEN mine",
  "UNLISTEN *",
  "CREATE TEMP TABLE seen (n int)",
  "DECLARE held CURSOR WITH HOLD FOR SELECT 1",
  "SELECT pg_advisory_lock(4711)::text",
  "SET ROLE pg_read_all_data",
  "DISCARD PLANS"
]

onEngines("what a transactional body does to its session", (it) => {
  for (const isFailed of [false, true]) {
    it.effect(`ends with the body that ${isFailed ? "fails" : "succeeds"}`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const before = yield* sql.unsafe(session)
        const body = Effect.gen(function* () {
          for (const change of changes) yield* sql.unsafe(change)
          if (isFailed) return yield* Effect.fail("no")
        })
        const exit = yield* transacted(body)
        assert.strictEqual(Exit.isFailure(exit), isFailed, String(exit))
        // Several times, because a pool has several sessions.
        for (let n = 0; n < 4; n++) {
          assert.deepStrictEqual(yield* sql.withTransaction(sql.unsafe(session)), before)
        }
      })
    )
  }

  it.effect(
    "cannot end the journal's transaction or the session, and what it hides is not done",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const refusals: ReadonlyArray<readonly [string, ReadonlyArray<unknown>, string]> = [
          ["COMMIT", [], "2D000"],
          [" /* now */ -- all\n rollback", [], "2D000"],
          ["BEGIN", [], "2D000"],
          ["start  transaction", [], "2D000"],
          ["END", [], "2D000"],
          ["ABORT", [], "2D000"],
          ["SET LOCAL transaction_timeout = 50", [], "42501"],
          ["SET idle_session_timeout TO 50", [], "42501"],
          ["SELECT set_config($1, '50', true)", ["idle_in_transaction_session_timeout"], "42501"]
        ]
        const body = Effect.forEach(refusals, ([text, params]) =>
          Effect.map(Effect.flip(sql.unsafe(text, params)), stateOf)
        )
        const exit = yield* transacted(body)
        assert.deepStrictEqual(exit, Exit.succeed(refusals.map(([, , state]) => state)))
        // A savepoint is its own.
        const nested = yield* transacted(
          Effect.exit(
            sql.withTransaction(Effect.andThen(sql.unsafe("SELECT 1"), Effect.fail("no")))
          )
        )
        assert.isTrue(Exit.isSuccess(nested))
      })
  )
})
