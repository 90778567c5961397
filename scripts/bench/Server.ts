/**
 * A PostgreSQL server of its own for one row.
 */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import { sized } from "./Work.ts"
import { launch, password, user } from "../../test/sql/PostgresServer.ts"

/** No plan gets better, and no window gets worse, because a background worker was there. */
const alone = [`ALTER SYSTEM SET autovacuum = off`, `SELECT pg_reload_conf()`]

/** Starts a server, which analyses and vacuums nothing by itself, and stops it when the work is done. */
export const withPostgres = async <A>(work: (url: string) => Promise<A>): Promise<A> => {
  const server = await launch()
  try {
    const url = `postgres://${user}:${password}@127.0.0.1:${server.port}/postgres`
    await Effect.runPromise(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.forEach(alone, (statement) => sql.unsafe(statement), { discard: true })
      ).pipe(Effect.provide(Postgres.layer({ url: Redacted.make(url) })))
    )
    return await work(url)
  } finally {
    await server.stop()
  }
}

/** A server that has just started lets nobody be judged dead, for every session ended with the one before. */
const settles_ms = sized(0, 11_000)

/** The same, with a server on which a killed process is noticed. */
export const withSettledPostgres = <A>(work: (url: string) => Promise<A>): Promise<A> =>
  withPostgres(async (url) => {
    await new Promise((resolve) => setTimeout(resolve, settles_ms))
    return work(url)
  })
