/**
 * A database that is new for each side of each round: no statistics, no plans, no rows. What keeps a service fast on its
 * first day must not be luck.
 */
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import type { Durable } from "./BareLog.ts"

/** `on` is the URL of a server, where it makes a database, or `pglite`: a directory, which is gone with the process. */
export const newDatabase = async (on: string): Promise<Durable> => {
  if (on === "pglite") {
    const directory = mkdtempSync(join(tmpdir(), "troupe-bench-"))
    process.once("exit", () => rmSync(directory, { recursive: true, force: true }))
    return { directory: join(directory, "data") }
  }
  const name = `bench_${randomUUID().replaceAll("-", "")}`
  await Effect.runPromise(
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`CREATE DATABASE ${name}`)).pipe(
      Effect.provide(Postgres.layer({ url: Redacted.make(on) }))
    )
  )
  const url = new URL(on)
  url.pathname = `/${name}`
  return { postgres: url.href }
}
