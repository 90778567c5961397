/**
 * Checks the database of the stores: its durability, whether its schema is that of this version, its clock, its limits, and who
 * blocks whom. Changes nothing.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { StoreError } from "../../../services/StoreError.ts"
import { StoreExamination } from "../../../services/StoreExamination.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { rowReader } from "../engine/DecodedRows.ts"
import * as Migrations from "../engine/Migrations.ts"
import { ServerSession } from "../engine/ServerSession.ts"
import * as TenantReads from "../engine/TenantReads.ts"
import type { Finding } from "../../../src/value/Finding.ts"
import { fault, ok, unknown, warning } from "../../../src/value/Finding.ts"

export type Engine = "PGlite" | "PostgreSQL"

type Failure = SqlError.SqlError | StoreError
type Check = (engine: Engine) => Effect.Effect<ReadonlyArray<Finding>, Failure, SqlClient.SqlClient>

/**
 * The differences, in ms, between the process's clock and the database's from which there is a warning and a fault. Leases are
 * measured by the database's clock, times of events by the process's.
 */
const clock_warning_ms = 2_000
const clock_fault_ms = 60_000
/**
 * In seconds: a transaction that is idle for longer prevents the removal of rows that others replace, and a longer wait for a
 * lock is stuck.
 */
const idle_s = 60
const waiting_s = 5
/**
 * Transactions since rows were last frozen from which there is a warning and a fault. PostgreSQL stops writing at about 2,100
 * million.
 */
const age_warning = 1_000_000_000
const age_fault = 1_800_000_000

const first = <A, I>(row: Schema.Codec<A, I>, what: string) => {
  const read = rowReader(row, what)
  return Effect.fnUntraced(function* (
    statement: string
  ): Effect.fn.Return<A, Failure, SqlClient.SqlClient> {
    const sql = yield* SqlClient.SqlClient
    const [found] = yield* read(sql, statement)
    return found ?? (yield* Effect.die(new Error(`no row of ${what}`)))
  })
}

const setting_names = [
  "server_version",
  "server_encoding",
  "fsync",
  "full_page_writes",
  "synchronous_commit",
  "autovacuum",
  "statement_timeout",
  "lock_timeout",
  "idle_in_transaction_session_timeout"
] as const
const settingsOf = first(
  Schema.Record(Schema.Literals([...setting_names, "locale", "provider"]), Schema.String),
  "settings"
)

const settings_statement = `SELECT ${setting_names.map((name) => `current_setting('${name}') AS ${name}`).join(", ")},
  d.datctype AS locale,
  CASE d.datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'ICU' WHEN 'b' THEN 'builtin' ELSE d.datlocprovider::text END AS provider
  FROM pg_database d WHERE d.datname = current_database()`

const settings: Check = Effect.fnUntraced(function* (engine) {
  const said = yield* settingsOf(settings_statement)
  const letters = `encoding ${said.server_encoding}, locale provider ${said.provider}, LC_CTYPE ${said.locale}`
  const findings = [
    ok("version", `${engine} ${said.server_version}`),
    (said.server_encoding === "UTF8" ? ok : fault)("locale", letters)
  ]
  if (engine === "PGlite") {
    const kept = "what is acknowledged survives a killed process; loss of power is not promised"
    return [...findings, ok("durability", kept)]
  }
  const lost = (["fsync", "synchronous_commit", "full_page_writes"] as const).flatMap((name) =>
    said[name] === "off"
      ? [
          fault(
            "durability",
            `${name} is off: what is acknowledged may be lost when the server stops`
          )
        ]
      : []
  )
  const kept = ok("durability", `fsync is on, synchronous_commit is ${said.synchronous_commit}`)
  const { isPooled } = yield* ServerSession
  return [
    ...findings,
    ...(lost.length === 0 ? [kept] : lost),
    ok(
      "timeouts",
      `statements ${said.statement_timeout}, locks ${said.lock_timeout}, idle transactions ${said.idle_in_transaction_session_timeout}`
    ),
    ok(
      "pooler",
      isPooled
        ? "a pooler is between here and the server, and keeps sessions: only its operator sees its pool sizes"
        : "no pooler was noticed between here and the server"
    ),
    said.autovacuum === "off"
      ? warning("vacuum", "autovacuum is off: tables grow with every change")
      : ok("vacuum", "autovacuum is on")
  ]
})

const migrated: Check = Effect.fnUntraced(function* () {
  const ran = yield* Migrations.ran
  const known = yield* Migrations.newest
  const strange = ran.find(({ isOurs }) => !isOurs)
  if (yield* Migrations.isForeign) return [fault("schema", Migrations.foreign_message)]
  if (ran.length === 0) {
    return [fault("schema", "there is no schema of Troupe: a start with this store makes it")]
  }
  if (strange !== undefined) {
    return [
      fault("schema", `migration ${strange.id} is "${strange.name}", which is none of Troupe's`)
    ]
  }
  const newest = Math.max(...ran.map(({ id }) => id))
  const newer = Migrations.newerThanKnown(ran, known)
  if (typeof newer === "string") return [warning("schema", newer)]
  if (newer !== undefined) return [fault("schema", newer.message)]
  return newest < known
    ? [
        warning(
          "schema",
          `the schema has migration ${newest} of ${known}: the next start runs the rest`
        ),
        unknown(
          "work",
          "the work in a schema of an older version was not looked at: examine it with that version, or after the next start"
        )
      ]
    : [ok("schema", `all ${known} migrations have run`)]
})

const timeOf = first(Schema.Struct({ now: Schema.Number }), "times")

const clock: Check = Effect.fnUntraced(function* () {
  const before = yield* Clock.currentTimeMillis
  const { now } = yield* timeOf(
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now"
  )
  const after = yield* Clock.currentTimeMillis
  // The database's clock was read at an unknown moment between the two readings.
  const apart = Math.max(before - now, now - after, 0)
  const said = `this machine's clock and the database's are ${Math.round(apart)} ms apart`
  const level = apart > clock_fault_ms ? fault : apart > clock_warning_ms ? warning : ok
  return [level("clock", said)]
})

const sessionsOf = first(
  Schema.Struct({
    idle: Schema.Int,
    waiting: Schema.Int,
    used: Schema.Int,
    room: Schema.Int,
    age: Schema.Int,
    bytes: Schema.Number
  }),
  "sessions"
)

const sessions_statement = `SELECT
  (SELECT count(*)::int4 FROM pg_stat_activity a WHERE a.datname = current_database() AND a.state LIKE 'idle in transaction%'
    AND a.state_change < clock_timestamp() - interval '${idle_s} seconds') AS idle,
  (SELECT count(*)::int4 FROM pg_stat_activity a WHERE a.datname = current_database() AND a.wait_event_type = 'Lock'
    AND a.wait_event <> 'advisory' AND a.query_start < clock_timestamp() - interval '${waiting_s} seconds') AS waiting,
  (SELECT count(*)::int4 FROM pg_stat_activity a WHERE a.backend_type = 'client backend') AS used,
  current_setting('max_connections')::int4 AS room,
  (SELECT age(d.datfrozenxid) FROM pg_database d WHERE d.datname = current_database()) AS age,
  pg_database_size(current_database())::float8 AS bytes`

const sessions: Check = Effect.fnUntraced(function* (engine) {
  const { age, bytes, idle, room, used, waiting } = yield* sessionsOf(sessions_statement)
  const size = ok("size", `the database has ${Math.ceil(bytes / 2 ** 20)} MB`)
  if (engine === "PGlite") return [size]
  const held = `${idle} transactions have been open for ${idle_s} s without a statement: they keep what others replace`
  const stuck = `${waiting} statements wait for a lock for over ${waiting_s} s`
  const frozen = `no row was frozen for ${age} transactions: VACUUM the database before it stops to write`
  return [
    size,
    ...(idle > 0 ? [warning("locks", held)] : []),
    ...(waiting > 0 ? [warning("locks", stuck)] : []),
    ...(idle + waiting === 0 ? [ok("locks", "nobody holds others up")] : []),
    (used > room * 0.9 ? warning : ok)("connections", `${used} of ${room} connections are used`),
    ...(age > age_warning ? [(age > age_fault ? fault : warning)("vacuum", frozen)] : [])
  ]
})

const rights: Check = Effect.fnUntraced(function* () {
  const sql = yield* SqlClient.SqlClient
  const lacks = yield* TenantReads.findWarning(sql)
  return [
    lacks === undefined
      ? ok("rights", "what principals read is kept to their workspace by row security")
      : warning("rights", lacks)
  ]
})

/** Runs all checks of the database. `isReadable`: whether this version can read the schema. */
export const examine = Effect.fnUntraced(function* (
  engine: Engine
): Effect.fn.Return<
  { readonly findings: ReadonlyArray<Finding>; readonly isReadable: boolean },
  Failure,
  SqlClient.SqlClient
> {
  const server = [
    ...(yield* settings(engine)),
    ...(yield* clock(engine)),
    ...(yield* sessions(engine))
  ]
  const schema = yield* migrated(engine)
  const isReadable = schema.every(({ level }) => level !== "fault" && level !== "unknown")
  const findings = [...server, ...schema, ...(isReadable ? yield* rights(engine) : [])]
  return { findings, isReadable }
})

/** Looks at a database that is used, at most once in 10 s, however many ask. */
export const layer = (engine: Engine): Layer.Layer<never, never, SqlClient.SqlClient> =>
  Layer.effect(
    StoreExamination,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const found = Effect.map(examine(engine), ({ findings }) => findings).pipe(
        Effect.mapError(orStoreError),
        Effect.provideService(SqlClient.SqlClient, sql),
        // Who asks and leaves would take the others with it.
        Effect.uninterruptible
      )
      return { findings: yield* Effect.cachedWithTTL(found, "10 seconds") }
    })
  )
