/**
 * An embedded database whose disk is full: it refuses what writes before its engine meets the end of the disk, answers what reads,
 * and goes on by itself. An engine that stands still all the same ends its process.
 */
import { spawn } from "node:child_process"
import { cpSync, existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { TestContext } from "vitest"
import { StoreSpace } from "../../services/StoreSpace.ts"
import { ErasedBytes, marker } from "../../layers/sql/engine/ErasedBytes.ts"
import * as LogReserve from "../../layers/sql/engine/LogReserve.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import { inTransaction, stateOf } from "../../layers/sql/engine/SqlFailure.ts"
import { flags, runnable } from "../process/Bundle.ts"
import * as Homes from "../process/Homes.ts"
import type { SmallDisk } from "../process/SmallDisk.ts"
import { small } from "../process/SmallDisk.ts"

const mega = 2 ** 20

/** Runs a test over a database on a small file system, or notes that it could not. */
const onSmall = <E>(
  context: TestContext,
  disk_mega: number,
  test: (disk: SmallDisk, directory: string) => Effect.Effect<void, E, Scope.Scope>
) =>
  Effect.gen(function* () {
    const disk = yield* small(disk_mega)
    if (disk === undefined) {
      context.task.meta.notes = ["a full disk: this user may not mount a file system"]
      return
    }
    const directory = join(disk.path, "db")
    cpSync((yield* Homes.directory).directory, directory, { recursive: true })
    yield* test(disk, directory)
  }).pipe(Effect.scoped)

/** The SQLSTATE of a statement, or of a transaction, that fails. */
const refusal = <A, R>(self: Effect.Effect<A, SqlError.SqlError, R>) =>
  Effect.map(Effect.flip(self), stateOf)

const pause = Effect.promise(() => new Promise((wait) => setTimeout(wait, 20)))

it.live(
  "a full disk: what writes is refused as one kind, what reads is answered, and both go on when it has space",
  (context) =>
    onSmall(context, 160, ({ fill, free }, directory) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const space = yield* StoreSpace
        yield* sql`CREATE TABLE public.kept (id int PRIMARY KEY, body text NOT NULL)`
        yield* sql`CREATE FUNCTION public.keep(id int) RETURNS int LANGUAGE sql AS
          'INSERT INTO public.kept VALUES (id, ''x'') RETURNING id'`
        yield* sql`INSERT INTO public.kept VALUES (1, 'x')`
        yield* space.check

        // The transaction began when there was space.
        const within = inTransaction(sql)(
          Effect.gen(function* () {
            yield* sql`INSERT INTO public.kept VALUES (2, 'x')`
            yield* Effect.sync(() => fill(31 * mega))
            yield* pause
            yield* sql`INSERT INTO public.kept VALUES (3, 'x')`
          })
        )
        assert.strictEqual(yield* refusal(within), "53100")
        const check = yield* Effect.flip(space.check)
        assert.match(check.message, /^the disk of the store has \d+ MB left$/)

        for (const left of [31 * mega, 3_000_000, 0]) {
          fill(left)
          yield* pause
          assert.strictEqual(yield* refusal(sql`INSERT INTO public.kept VALUES (4, 'x')`), "53100")
          assert.strictEqual(yield* refusal(sql`SELECT public.keep(4)`), "53100")
          assert.strictEqual(yield* refusal(sql`DELETE FROM public.kept`), "53100")
          assert.strictEqual(
            yield* refusal(inTransaction(sql)(sql`UPDATE public.kept SET body = 'y'`)),
            "53100"
          )
          const rows = inTransaction(sql)(sql`SELECT id, body FROM public.kept`)
          assert.deepStrictEqual(yield* rows, [{ id: 1, body: "x" }])
        }
        free()
        yield* pause
        yield* space.check
        yield* sql`SELECT public.keep(5)`
        assert.deepStrictEqual(yield* sql`SELECT id FROM public.kept ORDER BY id`, [
          { id: 1 },
          { id: 5 }
        ])
      }).pipe(Effect.provide(Layer.fresh(Pglite.layer({ directory }))))
    ),
  60_000
)

it.live(
  "a statement larger than what is left is refused, and what one took that was given up is there again",
  (context) =>
    onSmall(context, 200, ({ fill }, directory) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE public.large (body text STORAGE PLAIN NOT NULL)`
        fill(44 * mega)
        yield* pause
        const keep = (bytes: number) => sql`INSERT INTO public.large VALUES (${"x".repeat(bytes)})`
        assert.strictEqual(yield* refusal(keep(8 * mega)), "53100")
        yield* keep(1_000)
        // Nobody can tell how much this one writes: it is given up on the way.
        const rows = sql`INSERT INTO public.large SELECT repeat('x', 1000) FROM generate_series(1, 40000)`
        assert.strictEqual(yield* refusal(rows), "53100")
        // The disk is as full as before once its upkeep has run, and nobody has freed anything.
        while ((yield* Effect.exit(keep(1_000)))._tag === "Failure") yield* pause
        assert.deepStrictEqual(yield* sql`SELECT count(*)::int AS n FROM public.large`, [{ n: 2 }])
      }).pipe(Effect.provide(Layer.fresh(Pglite.layer({ directory, upkeep: { every_ms: 100 } }))))
    ),
  60_000
)

it.live(
  "a statement that logs more than the reserve is given up, and the engine goes on",
  (context) =>
    onSmall(context, 500, ({ fill, free }, directory) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE public.large (body text STORAGE PLAIN NOT NULL)`
        yield* sql`INSERT INTO public.large SELECT repeat('x', 1000) FROM generate_series(1, 120000)`
        // From here on a change of a page logs the whole page, and a row that is removed needs no space of its table.
        yield* sql`CHECKPOINT`
        fill(34 * mega)
        yield* pause
        assert.strictEqual(yield* refusal(sql`DELETE FROM public.large`), "53100")
        // A read that has to write pages out first may fail too, until there is room again.
        free()
        const rows = sql`SELECT count(*)::int AS n FROM public.large`
        assert.deepStrictEqual(yield* rows, [{ n: 120_000 }])
      }).pipe(Effect.provide(Layer.fresh(Pglite.layer({ directory }))))
    ),
  240_000
)

it.live(
  "files that an erasure left are not rewritten where they do not fit twice, and are when the disk has space",
  (context) =>
    onSmall(context, 240, ({ fill, free }, directory) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const bytes = yield* ErasedBytes
        yield* sql`INSERT INTO troupe.flow_states SELECT 'acme', i, repeat('x', 1000) FROM generate_series(1, 20000) AS i`
        fill(60 * mega)
        yield* pause
        yield* Effect.scoped(bytes.begin)
        const [left] = yield* bytes.remove
        assert.match(left!, /could not be rewritten \(the disk of the store has \d+ MB left, too/)
        assert.isTrue(existsSync(join(directory, marker)))
        yield* sql`DELETE FROM troupe.flow_states WHERE flow = '1'`
        free()
        while (existsSync(join(directory, marker))) yield* pause
      }).pipe(Effect.provide(Layer.fresh(Pglite.layer({ directory, upkeep: { every_ms: 100 } }))))
    ),
  60_000
)

it.live(
  "a database is opened on a full disk, and none is made there",
  (context) =>
    onSmall(context, 160, ({ fill, path }, directory) =>
      Effect.gen(function* () {
        fill(3_000_000)
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          assert.deepStrictEqual(yield* sql`SELECT 1 AS n`, [{ n: 1 }])
          assert.strictEqual(yield* refusal(sql`CREATE TABLE public.new (n int)`), "53100")
        }).pipe(Effect.provide(Layer.fresh(Pglite.layer({ directory }))))
        const other = Layer.fresh(Pglite.layer({ directory: join(path, "new") }))
        const error = yield* Effect.flip(Layer.build(other))
        assert.strictEqual(error._tag, "DirectoryUnusable")
        assert.match(error.message, /has \d+ MB left, and a new one needs 128 MB\.$/)
      })
    ),
  60_000
)

it.live("the log's reserve is made in order, only as far as there is space", () =>
  Effect.gen(function* () {
    const directory = (yield* Homes.directory).directory
    const log = join(directory, "pgdata/pg_wal")
    const before = new Set(readdirSync(log))
    const made = () =>
      readdirSync(log)
        .filter((name) => !before.has(name))
        .sort()
    const reserve = LogReserve.make(join(directory, "pgdata"))
    reserve.fill(1_000 * mega, 0)
    assert.deepStrictEqual(made(), [])
    assert.isTrue(reserve.moved("0000000100000002000000FE"))
    assert.isFalse(reserve.moved("0000000100000002000000FD"))
    // One is worth more than what is to be left, the second is not.
    reserve.fill(40 * mega, 32 * mega)
    assert.strictEqual(reserve.ahead(), 1)
    reserve.fill(15 * mega, 0)
    assert.deepStrictEqual(made(), ["0000000100000002000000FF"])
    reserve.fill(1_000 * mega, 32 * mega)
    assert.strictEqual(reserve.ahead(), 2)
    assert.deepStrictEqual(made(), ["0000000100000002000000FF", "000000010000000300000000"])
  }).pipe(Effect.scoped)
)

/** How a process ended whose engine runs a statement, and what it wrote. */
const stood = Effect.fnUntraced(function* (directory: string, statement: string) {
  const { compiled, file } = yield* runnable("test/sql/stander.ts")
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled }
  return yield* Effect.callback<{ signal: string | null; out: string; errors: string }>(
    (resume) => {
      const child = spawn(process.execPath, [...flags, file, directory, statement], { env })
      let [out, errors] = ["", ""]
      child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()))
      child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()))
      child.once("close", (_, signal) => resume(Effect.succeed({ signal, out, errors })))
      return Effect.sync(() => child.kill("SIGKILL"))
    }
  )
})

it.live(
  "an engine that never returns from a statement has its process ended, with a message",
  () =>
    Effect.gen(function* () {
      const { directory } = yield* Homes.directory
      const ended = yield* stood(directory, "DO $$ BEGIN LOOP END LOOP; END $$")
      assert.deepInclude(ended, { signal: "SIGKILL", out: "begins\n" })
      assert.include(ended.errors, "troupe: the embedded database stands still")
      // It left a database that can be opened.
      const again = yield* stood(directory, "SELECT 1")
      assert.deepInclude(again, { signal: null, out: "begins\nreturned\n" })
    }).pipe(Effect.scoped),
  60_000
)

it.live(
  "a log that outgrows the disk within a statement ends the process before the engine hangs, and loses nothing",
  (context) =>
    onSmall(context, 120, ({ fill, free }, directory) =>
      Effect.gen(function* () {
        yield* stood(directory, "CREATE TABLE public.kept AS SELECT 1 AS n")
        fill(34 * mega)
        // It writes nothing but the log, so that nothing else can refuse it.
        const logs = `DO $$ BEGIN FOR n IN 1..200 LOOP
          PERFORM pg_logical_emit_message(false, 'test', repeat('x', 1000000)); END LOOP; END $$`
        const ended = yield* stood(directory, logs)
        assert.deepInclude(ended, { signal: "SIGKILL", out: "begins\n" })
        assert.include(ended.errors, "troupe: the log of the embedded database cannot be written")
        free()
        const again = yield* stood(directory, "DELETE FROM public.kept WHERE 1 / n > 0")
        assert.deepInclude(again, { signal: null, out: "begins\nreturned\n" })
      })
    ),
  60_000
)
