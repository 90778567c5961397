/** A pooler between a process and its server: PgBouncer where it is installed, and an imitation everywhere. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Doctor from "../../layers/compose/entries/Doctor.ts"
import type { App } from "../../layers/compose/entries/Replay.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import { SqlNotify } from "../../layers/sql/engine/SqlNotify.ts"
import * as SqlOwners from "../../layers/sql/stores/SqlOwners.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { Owners } from "../../services/Owners.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Samples from "../contracts/Samples.ts"
import { isFull } from "../Long.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import * as PgBouncer from "./PgBouncer.ts"
import * as PoolerImitation from "./PoolerImitation.ts"

/** Notes that PgBouncer is missing, and skips. */
const withPgBouncer = <E>(name: string, test: Effect.Effect<void, E, Scope.Scope>) =>
  it.live(`${name} (PgBouncer)`, (context) => {
    if (PgBouncer.missing === undefined) return test
    context.task.meta.notes = [PgBouncer.missing]
    return Effect.void
  })

const clientOf = (url: string) => Layer.fresh(Postgres.layer({ url: Redacted.make(url) }))

/** A client without a pooler in between. */
const directTo = (url: string) =>
  Effect.map(Layer.build(clientOf(url)), (context) => Context.get(context, SqlClient.SqlClient))

const app: App<never, never> = { agents: [], tools: [] }

const found = Effect.fnUntraced(function* (url: string) {
  const findings = yield* Doctor.examinePostgres(Redacted.make(url), app)
  return findings
    .filter(({ check }) => check === "pooler")
    .map(({ level, message }) => [level, message])
})

const isRefused = Effect.fnUntraced(function* (direct: string, pooled: string) {
  const error = yield* Effect.flip(Layer.build(Layer.provide(SqlStores.layer, clientOf(pooled))))
  assert.strictEqual(error._tag, "PoolerUnusable")
  assert.match(
    error.message,
    /the pooler in front of PostgreSQL cannot be used.* Set its pool_mode to session/
  )
  assert.deepStrictEqual(yield* found(pooled), [["fault", error.message]])
  const sql = yield* directTo(direct)
  const [left] = yield* sql`SELECT to_regnamespace('troupe') AS schema`
  assert.deepStrictEqual(left, { schema: null })
})

const title = "a pooler that shares sessions among transactions is refused, with what to do"
withPgBouncer(
  title,
  Effect.gen(function* () {
    const direct = yield* EmbeddedPostgres.database
    for (const mode of ["transaction", "statement"] as const) {
      yield* isRefused(direct, yield* PgBouncer.inFrontOf(direct, mode))
    }
  })
)
it.live(`${title} (imitation)`, () =>
  Effect.gen(function* () {
    const direct = yield* EmbeddedPostgres.database
    yield* isRefused(direct, yield* PoolerImitation.inFrontOf(direct, "transaction"))
  })
)

/** The settings that a session has from its client, of sessions that are open at the same time. */
const settings = Effect.fnUntraced(function* (sessions: number) {
  const sql = yield* SqlClient.SqlClient
  const all = sql.unsafe<{ readonly set: string }>(
    `SELECT string_agg(name || '=' || setting, ',' ORDER BY name) AS set FROM pg_settings WHERE name IN
     ('application_name', 'client_encoding', 'enable_seqscan', 'idle_in_transaction_session_timeout', 'jit', 'lock_timeout', 'statement_timeout')`
  )
  // They are held long enough to need a session each.
  const held = Array.from({ length: sessions }, () =>
    sql.withTransaction(Effect.andThen(sql.unsafe("SELECT pg_sleep(0.1)"), all))
  )
  return (yield* Effect.all(held, { concurrency: "unbounded" })).flat()
})

const expected =
  "application_name=troupe,client_encoding=UTF8,enable_seqscan=off,idle_in_transaction_session_timeout=60000,jit=off," +
  "lock_timeout=20000,statement_timeout=30000"

/** Settings, those after a transactional body too, prepared statements, LISTEN and the locks of owners. */
const keepsSessions = Effect.fnUntraced(function* (direct: string, pooled: string) {
  const beside = yield* directTo(direct)
  // What a session begins with where nobody sets anything.
  yield* beside.unsafe(`ALTER DATABASE ${direct.split("/").at(-1)} SET client_encoding = 'LATIN1'`)
  const locks = Effect.map(
    beside<{ readonly n: number }>`SELECT count(*)::int AS n FROM pg_locks
      WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    ([row]) => row?.n
  )
  const scope = yield* Scope.fork(yield* Effect.scope)
  const layer = Layer.provideMerge(
    SqlOwners.layer,
    Layer.provideMerge(SqlStores.layer, clientOf(pooled))
  )
  const context = yield* Scope.provide(Layer.build(layer), scope)
  yield* Effect.gen(function* () {
    const journal = yield* RunJournal
    const sql = yield* SqlClient.SqlClient
    const body = Effect.forEach(
      ["RESET ALL", "SET lock_timeout = 1", "SET application_name = 'body'"],
      (text) => sql.unsafe(text)
    )
    for (let n = 0; n < 3; n++) {
      const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
      yield* journal.transact(begun.run, begun.fence, body, () => begun.next(Samples.callSettled()))
    }
    for (const { set } of yield* settings(6)) assert.strictEqual(set, expected)
    const [prepared] = yield* sql.withTransaction(
      Effect.andThen(
        sql.unsafe("SELECT 1"),
        sql.unsafe("SELECT count(*) > 0 AS any FROM pg_prepared_statements")
      )
    )
    assert.deepStrictEqual(prepared, { any: true })

    const heard: Array<string | undefined> = []
    yield* Scope.provide(
      SqlNotify.use((notify) =>
        notify.listen("troupe_test", (payload) => void heard.push(payload))
      ),
      scope
    )
    yield* beside`SELECT pg_notify('troupe_test', 'here')::text`
    yield* eventually(
      Effect.sync(() => heard.length),
      (length) => length === 1
    )
    yield* Scope.provide(
      Owners.use((owners) => owners.register("owner")),
      scope
    )
    yield* eventually(locks, (count) => count === 1)
    assert.deepStrictEqual(yield* found(pooled), [
      [
        "ok",
        "a pooler is between here and the server, and keeps sessions: only its operator sees its pool sizes"
      ]
    ])
  }).pipe(Effect.provide(context))
  yield* Scope.close(scope, Exit.void)
  yield* eventually(locks, (count) => count === 0)
})

const kept = "a pooler that keeps sessions has everything that a session has"
withPgBouncer(
  kept,
  Effect.gen(function* () {
    const direct = yield* EmbeddedPostgres.migrated
    yield* keepsSessions(direct, yield* PgBouncer.inFrontOf(direct, "session"))
  })
)
it.live(`${kept} (imitation)`, () =>
  Effect.gen(function* () {
    const direct = yield* EmbeddedPostgres.migrated
    yield* keepsSessions(direct, yield* PoolerImitation.inFrontOf(direct, "session"))
  })
)

// PgBouncer makes a client wait for a session, for longer than a process waits for an answer.
if (isFull) {
  withPgBouncer(
    "a pooler with fewer sessions than a process needs is refused, with what to do",
    Effect.gen(function* () {
      const direct = yield* EmbeddedPostgres.database
      const url = Redacted.make(
        yield* PgBouncer.inFrontOf(direct, "session", "default_pool_size = 3")
      )
      const error = yield* Effect.flip(
        Layer.build(Postgres.layer({ url, answer_timeout_ms: 5_000 }))
      )
      assert.strictEqual(error._tag, "PoolerUnusable")
      assert.include(
        error.message,
        "it gave 3 of the 5 sessions that a process needs. Raise its pool size"
      )
    })
  )
}
