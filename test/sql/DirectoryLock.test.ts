import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Doctor from "../../layers/compose/entries/Doctor.ts"
import type { App } from "../../layers/compose/entries/Replay.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as DirectoryLock from "../../layers/sql/engine/DirectoryLock.ts"
import * as Process from "./Process.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-lock-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

it.live("a directory that a living process holds is refused, with that process's id", () =>
  Effect.gen(function* () {
    const path = yield* directory
    const holder = yield* Process.run("test/sql/holder.ts", path)
    yield* holder.printed(1)
    const error = yield* Effect.flip(DirectoryLock.acquire(path))
    assert.deepInclude(error, { _tag: "DirectoryInUse", directory: path, pid: holder.pid })
    assert.include(error.message, `in use by process ${holder.pid}`)
  })
)

it.live("a killed holder leaves nothing to be cleared away", () =>
  Effect.gen(function* () {
    const path = yield* directory
    for (let round = 0; round < 3; round++) {
      const holder = yield* Process.run("test/sql/holder.ts", path)
      yield* holder.printed(1)
      assert.deepStrictEqual(holder.lines(), ["held"])
      yield* holder.kill
      assert.isTrue(existsSync(join(path, "pid")))
    }
    yield* DirectoryLock.acquire(path)
    assert.strictEqual(readFileSync(join(path, "pid"), "utf8"), String(process.pid))
  })
)

it.live("of 6 processes that come at once for a killed holder's directory one gets it", () =>
  Effect.gen(function* () {
    const path = yield* directory
    const dead = yield* Process.run("test/sql/holder.ts", path)
    yield* dead.printed(1)
    yield* dead.kill
    const comers = yield* Effect.forEach(Array.from({ length: 6 }), () =>
      Process.run("test/sql/holder.ts", path)
    )
    yield* Effect.forEach(comers, (comer) => comer.printed(1), { concurrency: "unbounded" })
    assert.strictEqual(comers.filter((comer) => comer.lines()[0] === "held").length, 1)
  })
)

it.live(
  "one process may not open a directory twice, and may open it again after it closed it",
  () =>
    Effect.gen(function* () {
      const path = yield* directory
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* DirectoryLock.acquire(path)
          const error = yield* Effect.flip(DirectoryLock.acquire(path))
          assert.strictEqual(error._tag, "DirectoryInUse")
        })
      )
      yield* DirectoryLock.acquire(path)
    })
)

it.live("a path that is no directory is refused with the reason", () =>
  Effect.gen(function* () {
    const file = join(yield* directory, "file")
    writeFileSync(file, "")
    const error = yield* Effect.flip(DirectoryLock.acquire(join(file, "data")))
    assert.deepInclude(error, { _tag: "DirectoryUnusable", reason: "ENOTDIR" })
    const itself = yield* Effect.flip(DirectoryLock.acquire(file))
    assert.deepInclude(itself, { _tag: "DirectoryUnusable", reason: "ENOTDIR" })
    if (process.platform !== "linux") return
    const none = yield* Effect.flip(DirectoryLock.acquire("/proc/troupe/data"))
    assert.deepInclude(none, { _tag: "DirectoryUnusable", reason: "ENOENT" })
  })
)

/** Permissions of everything in a directory that others could use, as `mode path`. */
const open = (path: string): ReadonlyArray<string> =>
  [
    path,
    ...readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name))
  ]
    .map((each) => [statSync(each).mode & 0o777, each] as const)
    .filter(([mode]) => (mode & 0o077) !== 0)
    .map(([mode, each]) => `${mode.toString(8)} ${each}`)

it.live(
  "a store's directory and all of its files are this user's alone, also those made before",
  () =>
    Effect.gen(function* () {
      const path = yield* directory
      const made = join(path, "made")
      const was = join(path, "was")
      const table = (place: string) =>
        Effect.provide(
          SqlClient.SqlClient.use((sql) => sql`CREATE TABLE IF NOT EXISTS a (b int4)`),
          Layer.fresh(Pglite.layer({ directory: place }))
        )
      yield* table(made)
      assert.deepStrictEqual(open(made), [])
      cpSync(made, was, { recursive: true })
      for (const each of [was, join(was, "pgdata")]) chmodSync(each, 0o755)
      yield* table(was)
      assert.deepStrictEqual(open(was), [])
    }).pipe(Effect.scoped),
  // A database is made, which takes seconds, and many on a busy machine.
  120_000
)

/** A data directory with the first file of a database; that file is another user's, if `isForeign`. */
const begun = Effect.fnUntraced(function* (isForeign: boolean) {
  const path = yield* directory
  const version = join(path, "pgdata", "PG_VERSION")
  mkdirSync(join(path, "pgdata"))
  const isRoot = process.geteuid?.() === 0
  // Only root gives files away; for anybody else a file of root's stands in its place.
  if (isForeign && !isRoot) symlinkSync("/etc/passwd", version)
  else writeFileSync(version, "18")
  if (isForeign && isRoot) chownSync(version, 12_345, 12_345)
  return path
})

it.effect("a database of another user, who could not open its new files, is left as it is", () =>
  Effect.gen(function* () {
    const path = yield* begun(true)
    const error = yield* Effect.flip(DirectoryLock.acquire(path))
    assert.strictEqual(error._tag, "DirectoryUnusable")
    assert.match(error.message, /its database belongs to user \d+, who/)
    assert.deepStrictEqual(readdirSync(path), ["pgdata"])
  })
)

const nothing: App<never, never> = { agents: [], tools: [] }

it.live("a database with a file that cannot be opened is not called broken", () =>
  Effect.gen(function* () {
    const path = yield* begun(false)
    symlinkSync("/nowhere", join(path, "pgdata", "pg_wal"))
    const error = yield* Effect.flip(Layer.build(Pglite.layer({ directory: path })))
    assert.strictEqual(error._tag, "DirectoryUnusable")
    assert.include(error.message, "pgdata/pg_wal cannot be opened (ENOENT)")
    const found = yield* Doctor.examineDirectory(path, nothing)
    assert.include(found.at(-1)?.message, "pgdata/pg_wal cannot be opened")
    rmSync(join(path, "pgdata", "pg_wal"))
    const broken = yield* Doctor.examineDirectory(path, nothing)
    assert.deepInclude(broken.at(-1), { check: "store", level: "fault" })
    assert.include(broken.at(-1)?.message, "its files are broken, or another version made them")
  })
)

it.effect("a directory that cannot be read is not closed to others, and its start says why", () =>
  Effect.gen(function* () {
    const path = join(yield* directory, "file")
    writeFileSync(path, "", { mode: 0o644 })
    const error = yield* Effect.flip(DirectoryLock.harden(path))
    assert.strictEqual(error._tag, "DirectoryUnusable")
    assert.strictEqual(error.reason, "ENOTDIR")
  })
)
