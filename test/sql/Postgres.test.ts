/** What only a server has: several processes, wakeups between them, lost connections, settings of its own. */
import { assert, it } from "@effect/vitest"
import type { Context } from "effect"
import { Clock, Effect, Fiber, Layer, Logger, Redacted } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import { toStoreError } from "../../layers/sql/engine/SqlFailure.ts"
import { SqlNotify } from "../../layers/sql/engine/SqlNotify.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunNews } from "../../services/RunNews.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { cancelRun } from "../../src/run/RunCommand.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

/** Stores with connections of their own, as another process has them. */
const process = (url: string) =>
  Layer.build(
    Layer.fresh(Layer.provideMerge(SqlStores.layer, Postgres.layer({ url: Redacted.make(url) })))
  )

it.live("two processes that start together on an empty database migrate it once", () =>
  Effect.gen(function* () {
    const url = yield* EmbeddedPostgres.database
    const contexts = yield* Effect.all([process(url), process(url), process(url)], {
      concurrency: "unbounded"
    })
    const rows = yield* Effect.provide(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql<{ migration_id: number }>`SELECT migration_id FROM troupe.migrations`
      ),
      contexts[0]
    )
    assert.strictEqual(new Set(rows.map((row) => row.migration_id)).size, rows.length)
    assert.deepStrictEqual(yield* Effect.provide(Migrations.run, contexts[1]), [])
  })
)

it.live("a server that is not there is an error that names its address and the reason", () =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(process("postgres://u:secret@127.0.0.1:1/x"))
    assert.strictEqual(error._tag, "SqlError")
    assert.include(error.message, "PostgreSQL cannot be reached: connect ECONNREFUSED 127.0.0.1:1")
    assert.notInclude(error.message, "secret")
  }).pipe(Effect.scoped)
)

it.live("a server that refuses a start is an error that says what the server said", () =>
  Effect.gen(function* () {
    const url = yield* EmbeddedPostgres.database
    const name = url.split("/").at(-1)!
    const refusal = (to: string) => Effect.map(Effect.flip(process(to)), ({ message }) => message)
    assert.include(yield* refusal(`${url}_no`), `database "${name}_no" does not exist`)
    const [, user, secret] = /:\/\/(\w+):(\w+)@/.exec(url)!
    const wrong = yield* refusal(url.replace(`:${secret}@`, ":wrong@"))
    assert.include(wrong, `password authentication failed for user "${user}"`)
    const context = yield* Layer.build(Postgres.layer({ url: Redacted.make(url) }))
    const sql = yield* Effect.provide(SqlClient.SqlClient, context)
    yield* sql.unsafe(`CREATE ROLE ${name} LOGIN PASSWORD 'secret'`)
    const lowly = yield* refusal(url.replace(`${user}:${secret}@`, `${name}:secret@`))
    assert.include(lowly, `permission denied for database ${name}`)
    yield* sql.unsafe(`DROP ROLE ${name}`)
  }).pipe(Effect.scoped)
)

it("what a server says for a while is told with what to do about it", () => {
  const refused = (code: string, said = "no") =>
    toStoreError(
      new SqlError.SqlError({
        reason: new SqlError.UnknownError({ cause: Object.assign(new Error(said), { code }) })
      })
    ).message
  assert.include(refused("53300"), "no connection left: raise its max_connections")
  assert.include(refused("53300"), "each process needs 5 (53300)")
  assert.include(refused("57P03"), "starting or stopping")
  assert.strictEqual(refused("42601"), "the database refused the statement (42601)")
})

it.live("a limit of connections is told with its cause", () =>
  Effect.gen(function* () {
    const url = yield* EmbeddedPostgres.database
    const name = url.split("/").at(-1)!
    const limited = url.replace(/\/\/\w+:\w+@/, `//${name}:secret@`)
    const refusal = Effect.scoped(
      Effect.flatMap(Layer.build(EmbeddedPostgres.clientOf(Effect.succeed(limited))), (context) =>
        Effect.provide(SqlClient.SqlClient, context)
      )
    ).pipe(
      Effect.flip,
      Effect.map((error) => toStoreError(error).message)
    )
    const sql = yield* Effect.provide(
      SqlClient.SqlClient,
      yield* Layer.build(Postgres.layer({ url: Redacted.make(url) }))
    )
    yield* sql.unsafe(`CREATE ROLE ${name} LOGIN PASSWORD 'secret' CONNECTION LIMIT 0`)
    assert.include(yield* refusal, "the role of this service may open no more connections")
    yield* sql.unsafe(`ALTER ROLE ${name} CONNECTION LIMIT -1`)
    yield* sql.unsafe(`ALTER DATABASE ${name} CONNECTION LIMIT 0`)
    assert.include(yield* refusal, "the database takes no more connections")
    yield* sql.unsafe(`DROP ROLE ${name}`)
  }).pipe(Effect.scoped)
)

it.live("130 amendments at once wake the listeners of each process once for each run", () =>
  Effect.gen(function* () {
    const url = yield* EmbeddedPostgres.database
    const [here, there] = [yield* process(url), yield* process(url)]
    const listening = (context: Context.Context<RunPorts>) => {
      const heard: Array<RunId | undefined> = []
      return Effect.as(
        Effect.provide(
          RunNews.use((news) => news.onAmended((run) => void heard.push(run))),
          context
        ),
        heard
      )
    }
    const [own, other] = [yield* listening(here), yield* listening(there)]
    const runs = yield* Effect.provide(
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const begun = yield* Effect.forEach(Array.from({ length: 130 }), () => Samples.begin())
        const amend = (run: RunId) =>
          journal.amend(run, (state) => cancelRun(state, run, "ada", "enough"))
        yield* Effect.forEach(begun, ({ run }) => amend(run), { concurrency: "unbounded" })
        return begun.map(({ run }) => run).sort()
      }),
      here
    )
    yield* eventually(
      Effect.sync(() => other.length),
      (heard) => heard >= runs.length
    )
    assert.deepStrictEqual([...other].sort(), runs)
    assert.deepStrictEqual([...own].sort(), runs)
  })
)

it.live("a listener whose connection is cut is called with undefined, then goes on", () =>
  Effect.gen(function* () {
    const url = yield* EmbeddedPostgres.database
    const context = yield* Layer.build(Postgres.layer({ url: Redacted.make(url) }))
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const notify = yield* SqlNotify
      const heard: Array<string | undefined> = []
      yield* notify.listen("troupe_test", (payload) => void heard.push(payload))
      yield* sql`SELECT pg_notify('troupe_test', 'before')`
      yield* eventually(
        Effect.sync(() => heard.length),
        (length) => length === 1
      )
      yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'`
      yield* eventually(
        Effect.sync(() => heard.length),
        (length) => length === 2
      )
      yield* sql`SELECT pg_notify('troupe_test', 'after')`
      yield* eventually(
        Effect.sync(() => heard.length),
        (length) => length === 3
      )
      assert.deepStrictEqual(heard, ["before", undefined, "after"])
    }).pipe(Effect.provide(context))
  })
)

it.live("a listener that broke is called with what comes later", () =>
  Effect.gen(function* () {
    const url = yield* EmbeddedPostgres.database
    const context = yield* Layer.build(Postgres.layer({ url: Redacted.make(url) }))
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const notify = yield* SqlNotify
      const heard: Array<string | undefined> = []
      yield* notify.listen("troupe_test", (payload) => {
        heard.push(payload)
        if (payload === "bad") throw new Error("a bug of a listener")
      })
      yield* sql`SELECT pg_notify('troupe_test', 'bad')`
      yield* eventually(
        Effect.sync(() => heard.length),
        (length) => length === 2
      )
      yield* sql`SELECT pg_notify('troupe_test', 'good')`
      yield* eventually(
        Effect.sync(() => heard.length),
        (length) => length === 3
      )
      assert.deepStrictEqual(heard, ["bad", undefined, "good"])
    }).pipe(Effect.provide(context), Effect.provide(Logger.layer([])))
  })
)

it.live(
  "a journal whose listener was cut off calls back that amendments may have been missed",
  () =>
    Effect.gen(function* () {
      const url = yield* EmbeddedPostgres.database
      const context = yield* process(url)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const news = yield* RunNews
        const heard: Array<RunId | undefined> = []
        yield* news.onAmended((run) => void heard.push(run))
        yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%troupe_amended%'`
        yield* eventually(
          Effect.sync(() => heard.length),
          (length) => length === 1
        )
        assert.deepStrictEqual(heard, [undefined])
      }).pipe(Effect.provide(context))
    })
)

const startupLogs = Effect.fnUntraced(function* (url: string) {
  const lines: Array<string> = []
  const capture = Logger.make<unknown, void>((entry) => {
    lines.push(`${entry.logLevel} ${String(entry.message)}`)
  })
  yield* Layer.build(Postgres.layer({ url: Redacted.make(url) })).pipe(
    Effect.provide(Logger.layer([capture]))
  )
  return lines
})

it.live(
  "a server that may forget what it acknowledged is warned of at start, a safe one is not",
  () =>
    Effect.gen(function* () {
      const url = yield* EmbeddedPostgres.database
      assert.deepStrictEqual(yield* startupLogs(url), [])
      const context = yield* Layer.build(Postgres.layer({ url: Redacted.make(url) }))
      yield* Effect.provide(
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          sql.unsafe(`ALTER DATABASE ${url.split("/").at(-1)} SET synchronous_commit = off`)
        ),
        context
      )
      const lines = yield* startupLogs(url)
      assert.strictEqual(lines.length, 1)
      assert.match(lines[0]!, /^Warn PostgreSQL runs with synchronous_commit = off/)
    })
)

it.live("a clock that is not in step with the server's is warned of at start", () =>
  Effect.gen(function* () {
    const url = yield* EmbeddedPostgres.database
    const clock = yield* Clock.Clock
    for (const [apart_ms, said] of [
      [600_000, "600 s ahead of"],
      [-600_000, "600 s behind"]
    ] as const) {
      const wrong: Clock.Clock = {
        ...clock,
        currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + apart_ms),
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + apart_ms,
        currentTimeNanos: clock.currentTimeNanos,
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos,
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        sleep: (duration) => clock.sleep(duration)
      }
      const lines = yield* Effect.provideService(startupLogs(url), Clock.Clock, wrong)
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0], `clock is ${said} that of PostgreSQL`)
    }
  })
)

it.live("a database that cannot be reached fails without its address or password", () =>
  Effect.gen(function* () {
    const url = "postgres://postgres:s3cret@127.0.0.1:1/none"
    const error = yield* Effect.flip(
      Layer.build(Layer.provide(SqlStores.layer, Postgres.layer({ url: Redacted.make(url) })))
    )
    assert.notInclude(String(error), "s3cret")
  })
)

it.effect(
  "a statement is given up after 35 s, and those after it after 1 s, until one is answered",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const asked = Effect.forkChild(Effect.flip(sql.unsafe("SELECT pg_sleep(25)")), {
        startImmediately: true
      })
      const givenUp = Effect.fnUntraced(function* (ms: number) {
        const statement = yield* asked
        yield* TestClock.adjust(ms - 1)
        assert.isUndefined(statement.pollUnsafe())
        yield* TestClock.adjust(1)
        const error = yield* Fiber.join(statement)
        assert.include(String(error.reason), `PostgreSQL did not answer within ${ms} ms`)
      })
      yield* givenUp(35_000)
      yield* givenUp(1_000)
      yield* sql`SELECT 1`
      yield* givenUp(35_000)
    }).pipe(Effect.provide(Layer.fresh(EmbeddedPostgres.emptyLayer)))
)
