/**
 * Removes the bytes of what was erased from the files of an embedded database. A deleted row stays in its page until another takes
 * its place, and in the log until its file is used again: each table is rewritten with its indexes, one statement at a time, and the
 * files of the log are filled with zeros. A file in the directory says that this is to be done, so that a later process does it
 * where this one cannot.
 */
import { existsSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schema, Semaphore } from "effect"
import { SqlSchema } from "effect/sql"
import type { SqlClient } from "effect/sql"
import { StoreError } from "../../../services/StoreError.ts"
import type { DirectorySpace } from "./DirectorySpace.ts"
import type { ErasedBytes } from "./ErasedBytes.ts"
import { outside } from "./ErasedBytes.ts"
import { pause } from "./PgliteUpkeep.ts"
import { reasonOf } from "./SqlFailure.ts"

/** The name of the file in the directory of a store while bytes of erased texts may be in its database. */
export const marker = "erased"

/** Between two tables, in ms: what waits for the thread gets it, and what waits for the session has its turn. */
const breath_ms = 5

export interface ErasedFiles extends ErasedBytes {
  /** Does what is left to be done, unless an erasure is under way. Fails with why it cannot. */
  readonly resume: Effect.Effect<void, StoreError>
}

const refused = (message: string) => new StoreError({ message })

export const make = (
  sql: SqlClient.SqlClient,
  space: DirectorySpace,
  directory: string
): ErasedFiles => {
  const path = join(directory, marker)
  const one = Semaphore.makeUnsafe(1)
  let running = 0
  /** The tables that were rewritten since the last erasure changed something. */
  let done = new Set<string>()

  const tables = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ name: Schema.String, bytes: Schema.Number }),
    execute: () =>
      sql`SELECT c.oid::regclass::text AS name, pg_total_relation_size(c.oid)::float8 AS bytes FROM pg_class c
        WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind = 'r' ORDER BY bytes, name`
  })

  const rewrite = Effect.gen(function* () {
    const own = done
    for (const { bytes, name } of yield* tables()) {
      if (own.has(name)) continue
      // The new file and its log are there before the old file is gone.
      const full = space.refusal() ?? space.tooLarge(bytes)
      if (full !== undefined) return yield* refused(full)
      yield* sql.unsafe(`VACUUM FULL ${name}`)
      own.add(name)
      yield* pause(breath_ms)
    }
    // The log goes on in a file of zeros; then the files before it are removed, or kept for later with what is in them.
    space.clearLog()
    yield* sql.unsafe("CHECKPOINT")
    yield* sql.unsafe("SELECT pg_switch_wal()")
    yield* sql.unsafe("CHECKPOINT")
    space.clearLog()
    if (own === done && running === 0) rmSync(path, { force: true })
  }).pipe(
    Effect.catch((error) => refused(error instanceof StoreError ? error.message : reasonOf(error))),
    one.withPermit
  )

  return {
    begin: Effect.acquireRelease(
      Effect.try({
        try: () => {
          writeFileSync(path, "", { mode: 0o600 })
          running++
        },
        catch: () => refused("the directory of the store cannot be written")
      }),
      () =>
        Effect.sync(() => {
          running--
          done = new Set()
        })
    ),
    remove: Effect.match(rewrite, {
      onFailure: ({ message }) => [
        `the files of the database, which could not be rewritten (${message}): the process tries again`,
        outside
      ],
      onSuccess: () => [outside]
    }),
    resume: Effect.suspend(() => (running > 0 || !existsSync(path) ? Effect.void : rewrite))
  }
}
