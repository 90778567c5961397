/**
 * Where a worker keeps what it knows: a new place each time, on either engine, gone when the scope closes.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import type { Scope } from "effect"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import type { Store } from "./Plan.ts"
import * as Service from "./Service.ts"

export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-process-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

export type Home = Effect.Effect<Store, unknown, Scope.Scope>

let template: Promise<string> | undefined

/** Making a database costs seconds, copying one does not: made once by a worker that comes and goes. */
const made = (): Promise<string> =>
  (template ??= Effect.runPromise(
    Effect.gen(function* () {
      const path = mkdtempSync(join(tmpdir(), "troupe-template-"))
      process.once("exit", () => rmSync(path, { recursive: true, force: true }))
      const worker = yield* Service.start({ store: { directory: path }, counter: "" })
      yield* worker.stop
      return path
    }).pipe(Effect.scoped)
  ))

/** A directory with an empty database. */
export const directory: Home = Effect.gen(function* () {
  const from = yield* Effect.promise(made)
  const path = join(yield* temporary, "db")
  cpSync(from, path, { recursive: true })
  return { directory: path }
})

/** A database of the run's server. */
export const database: Home = Effect.map(EmbeddedPostgres.database, (postgres) => ({ postgres }))

export const both: ReadonlyArray<readonly [engine: string, home: Home]> = [
  ["PGlite", directory],
  ["PostgreSQL", database]
]
