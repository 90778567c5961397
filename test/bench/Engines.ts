/**
 * A measure on the stores of each engine: a server's, and a PGlite directory that is gone with the measure.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, Redacted } from "effect"
import type { SqlClient } from "effect/sql"
import type { RunPorts } from "../../services/Stores.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"

/** The variants of a durable row; `rounds` comes from the command line. */
export const engines = <A>(
  measured: (rounds: number) => Effect.Effect<A, unknown, RunPorts | SqlClient.SqlClient>
) => ({
  postgres: (url: string, rounds: string): Promise<A> =>
    Effect.runPromise(
      measured(Number(rounds)).pipe(
        Effect.provide(
          SqlStores.layer.pipe(Layer.provideMerge(Postgres.layer({ url: Redacted.make(url) })))
        )
      )
    ),
  pglite: async (rounds: string): Promise<A> => {
    const directory = mkdtempSync(join(tmpdir(), "troupe-bench-"))
    const found = await Effect.runPromise(
      measured(Number(rounds)).pipe(
        Effect.provide(SqlStores.layer.pipe(Layer.provideMerge(Pglite.layer({ directory }))))
      )
    )
    rmSync(directory, { recursive: true, force: true })
    return found
  }
})
