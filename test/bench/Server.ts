/**
 * A PostgreSQL server of its own for one row.
 */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import { sized } from "./Work.ts"
import { launch, password, user } from "../sql/PostgresServer.ts"

/** No plan gets better, and no window gets worse, because a background worker was there. */
const alone = `ALTER SYSTEM SET autovacuum = off`

/** Looks once a minute otherwise: rows that are written in two minutes here are those of a day elsewhere. */
const often = `ALTER SYSTEM SET autovacuum_naptime = '1s'`

const withSetting =
  (setting: string) =>
  async <A>(work: (url: string) => Promise<A>): Promise<A> => {
    const server = await launch()
    try {
      const url = `postgres://${user}:${password}@127.0.0.1:${server.port}/postgres`
      await Effect.runPromise(
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          Effect.andThen(sql.unsafe(setting), sql.unsafe(`SELECT pg_reload_conf()`))
        ).pipe(Effect.provide(Postgres.layer({ url: Redacted.make(url) })))
      )
      return await work(url)
    } finally {
      await server.stop()
    }
  }

/** Starts a server, which analyses and vacuums nothing by itself, and stops it when the work is done. */
export const withPostgres = withSetting(alone)

/** The same, with a server that vacuums a table when a fifth of it is dead, as others do. */
export const withVacuumedPostgres = withSetting(often)

/** A server that has just started lets nobody be judged dead, for every session ended with the one before. */
const settles_ms = sized(0, 11_000)

/** The same, with a server on which a killed process is noticed. */
export const withSettledPostgres = <A>(work: (url: string) => Promise<A>): Promise<A> =>
  withPostgres(async (url) => {
    await new Promise((resolve) => setTimeout(resolve, settles_ms))
    return work(url)
  })
