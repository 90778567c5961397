/**
 * Databases for tests: on the run's real PostgreSQL, a new and empty one each time.
 */
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import type { SqlNotify } from "../../layers/sql/engine/SqlNotify.ts"
import { password, user } from "./PostgresServer.ts"

/** The run's server, which starts now if nobody asked before. */
const port = Effect.callback<string>((resume) => {
  const socket = connect(Number(process.env["TROUPE_TEST_POSTGRES"]), "127.0.0.1")
  let text = ""
  socket.on("data", (chunk) => (text += chunk.toString()))
  socket.on("error", (error) => resume(Effect.die(error)))
  socket.on("end", () =>
    resume(/^\d+$/.test(text) ? Effect.succeed(text) : Effect.die(new Error(text)))
  )
})

/** Where a server of this machine has a database. */
export const urlOf = (port: string, database: string): string =>
  `postgres://${user}:${password}@127.0.0.1:${port}/${database}`

/** The address of a database that was made for this call. */
export const database: Effect.Effect<string, SqlError.SqlError> = Effect.gen(function* () {
  const at = yield* port
  const name = `t_${randomUUID().replaceAll("-", "")}`
  yield* Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(`CREATE DATABASE ${name}`)).pipe(
    Effect.provide(PgClient.layer({ url: Redacted.make(urlOf(at, "postgres")), maxConnections: 1 }))
  )
  return urlOf(at, name)
})

/** A client of a new database. */
export const layer: Layer.Layer<SqlClient.SqlClient | SqlNotify, SqlError.SqlError> = Layer.unwrap(
  Effect.map(database, (url) => Postgres.layer({ url: Redacted.make(url) }))
)
