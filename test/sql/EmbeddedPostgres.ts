/**
 * Databases for tests: on the run's real PostgreSQL, a new one each time.
 */
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Redacted } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as SemStreamsTables from "../../layers/sql/semstreams/SemStreamsTables.ts"
import { platformTables } from "../../layers/stores/spectral/platform/PlatformTables.ts"
import { worldTables } from "../../layers/stores/spectral/worlds/StoredWorlds.ts"
import * as SpectralTables from "../../layers/sql/spectral/SpectralTables.ts"
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

/** A connection to the run's server from which databases are made. */
const asAdmin = <A, E>(at: string, use: Effect.Effect<A, E, PgClient.PgClient>) =>
  Effect.provide(
    use,
    PgClient.layer({ url: Redacted.make(urlOf(at, "postgres")), maxConnections: 1 })
  )

const made = (template: string, locale = "") =>
  Effect.gen(function* () {
    const at = yield* port
    const name = `t_${randomUUID().replaceAll("-", "")}`
    // Files that are copied cost half of what the log of each page does.
    const create = `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY ${locale}`
    yield* asAdmin(
      at,
      Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(create))
    )
    return urlOf(at, name)
  })

/** What decides about letters and their case in a database, by name. The server's own locale is C. */
export const locales = {
  C: "",
  "libc C.UTF-8": "LOCALE 'C.UTF-8'",
  "builtin C.UTF-8 with LC_CTYPE C":
    "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LC_CTYPE 'C'",
  "ICU with LC_CTYPE C": "LOCALE_PROVIDER icu ICU_LOCALE 'und' LC_CTYPE 'C'"
} as const

/** The address of an empty database with a locale of its own. */
export const databaseOf = (
  locale: keyof typeof locales
): Effect.Effect<string, SqlError.SqlError> => made("template0", locales[locale])

/** The address of an empty database that takes any bytes for text. */
export const anyBytes = made("template0", "ENCODING 'SQL_ASCII'")

/** The address of an empty database that was made for this call. */
export const database: Effect.Effect<string, SqlError.SqlError> = made("template1")

/** Brought up to date once for the whole run: migrating each anew costs more than copying it. */
const template = "migrated"

const ready = Effect.gen(function* () {
  const at = yield* port
  const sql = yield* PgClient.PgClient
  // Of several processes one makes it; the lock ends with the connection.
  yield* sql.unsafe("SELECT pg_advisory_lock(1)")
  const found = yield* sql.unsafe(`SELECT FROM pg_database WHERE datname = '${template}'`)
  if (found.length === 0) {
    yield* sql.unsafe(`CREATE DATABASE ${template}_now`)
    yield* Effect.provide(
      Effect.orDie(
        Effect.andThen(
          Migrations.run,
          Effect.scoped(
            Layer.build(
              Layer.provideMerge(
                SemStreamsTables.layer,
                SpectralTables.layerOf([...platformTables, ...worldTables])
              )
            )
          )
        )
      ),
      Layer.fresh(clientOf(Effect.succeed(urlOf(at, `${template}_now`))))
    )
    yield* sql.unsafe(`ALTER DATABASE ${template}_now RENAME TO ${template}`)
  }
})

let isReady = false

/** The address of a database that was made for this call, with the schema of now and no rows. */
export const migrated: Effect.Effect<string, SqlError.SqlError> = Effect.gen(function* () {
  if (!isReady) yield* asAdmin(yield* port, ready)
  isReady = true
  return yield* made(template)
})

type Client = Layer.Layer<SqlClient.SqlClient | SqlNotify, SqlError.SqlError>

/** A client of a database with that URL. */
export const clientOf = (url: Effect.Effect<string, SqlError.SqlError>): Client =>
  Layer.unwrap(Effect.map(url, (url) => Postgres.layer({ url: Redacted.make(url) }))).pipe(
    Layer.catchTag("PoolerUnusable", (error) => Layer.effectContext(Effect.die(error)))
  )

/** A client of an empty database. */
export const emptyLayer: Client = clientOf(database)

/** A client of a new database with the schema of now. */
export const layer: Client = clientOf(migrated)
