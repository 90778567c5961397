/**
 * Brings the database's schema up to date by numbered migrations. Those that are missing run in one transaction, and of
 * several processes that start together one runs them.
 *
 * A released migration is never changed: a database that ran it does not run it again. A change of the schema is a new
 * migration, which imports nothing but `effect` and its own files, so that it stays what it was when it was released; and
 * a dump of a database that it made, which a test upgrades from then on (`test/sql/dump.ts`).
 */
import { Effect, Layer, Schema } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { AnswerUnlimited } from "./AnswerUnlimited.ts"
import { rowDecoder } from "./DecodedRows.ts"
import { MayUpgrade } from "./MayUpgrade.ts"
import { inTransaction, reasonOf, withReason } from "./SqlFailure.ts"
import { migration as schema } from "./migrations/0001_schema.ts"
import { migration as messages } from "./migrations/0002_messages.ts"
import { migration as plans } from "./migrations/0003_plans.ts"
import { migration as worlds } from "./migrations/0004_worlds.ts"
import { migration as sets } from "./migrations/0005_sets.ts"
import { migration as memory } from "./migrations/0006_memory.ts"
import { migration as platform } from "./migrations/0007_platform.ts"
import { migration as authorizations } from "./migrations/0008_authorizations.ts"
import { migration as channels } from "./migrations/0009_channels.ts"
import { migration as files } from "./migrations/0010_files.ts"
import { migration as tenants } from "./migrations/0011_tenants.ts"
import { migration as tokens } from "./migrations/0012_tokens.ts"
import { migration as erasures } from "./migrations/0013_erasures.ts"
import { migration as handoffs } from "./migrations/0014_handoffs.ts"
import { migration as drafts } from "./migrations/0015_drafts.ts"
import { migration as pairs } from "./migrations/0016_pairs.ts"

/** By number and name. Only ever appended to. */
const migrations = {
  /** Every table of the first release, and its functions. */
  "0001_schema": schema,
  /** Messages are accepted, and their runs begun, several in a statement. */
  "0002_messages": messages,
  /** Functions whose statements can be planned in one way only. */
  "0003_plans": plans,
  "0004_worlds": worlds,
  /** Messages and ends of runs: one statement for all rows of a batch, in place of one for each row. */
  "0005_sets": sets,
  "0006_memory": memory,
  /** Records of workspaces. */
  "0007_platform": platform,
  /** What workspaces authorised in advance. */
  "0008_authorizations": authorizations,
  /** Events that came in, channels of conversations, and what people were told. */
  "0009_channels": channels,
  /** The bytes of images and other files of messages. */
  "0010_files": files,
  /** Row security by tenant. */
  "0011_tenants": tenants,
  /** Digests of the tokens that admins gave. */
  "0012_tokens": tokens,
  /** Which erasures there were. */
  "0013_erasures": erasures,
  /** An index of the runs that changed hands. */
  "0014_handoffs": handoffs,
  /** Drafts of rubrics and system cards. */
  "0015_drafts": drafts,
  /** Events that were appended together, two in a row. */
  "0016_pairs": pairs
}

/** The number of the last migration that this version has. */
export const newest = Object.keys(migrations).length

/** The list of those that ran. */
const list = "troupe.migrations"
/** Where earlier versions had it, in the first schema of their search path: usually `public`. */
const early_list = "troupe_migrations"
/** Where it is while the first migration makes the schema. */
const new_schema = "troupe_new"

const names = new Map(
  Object.keys(migrations).map((name) => [Number(name.slice(0, 4)), name.slice(5)])
)

const Ran = Schema.Struct({ migration_id: Schema.Int, name: Schema.String })
const decodeRan = rowDecoder(Ran, "migrations")
const decodePlaces = rowDecoder(
  Schema.Struct({
    schema: Schema.Boolean,
    now: Schema.Boolean,
    early: Schema.NullOr(Schema.String)
  }),
  "places of migrations"
)

/** Whether the schema is there, and the list where it belongs; else where an earlier version has it, as it is written in a statement. */
const places = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* Effect.flatMap(
    sql.unsafe(
      `SELECT to_regnamespace('troupe') IS NOT NULL AS schema, to_regclass('${list}') IS NOT NULL AS now,
         coalesce(to_regclass('${early_list}'), to_regclass('public.${early_list}'))::regclass::text AS early`
    ),
    decodePlaces
  )
  return found ?? { schema: false, now: false, early: null }
})

const listed = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* Effect.flatMap(
    sql.unsafe(`SELECT migration_id, name FROM ${table} ORDER BY migration_id`),
    decodeRan
  )
})

/** What the database ran, by number; none where it has no schema of Troupe. `isOurs`: no other one of that number is here. */
export const ran = Effect.gen(function* () {
  const { early, now } = yield* places
  const table = now ? list : early
  const rows = table === null ? [] : yield* listed(table)
  return rows.map(({ migration_id, name }) => {
    const ours = names.get(migration_id)
    return { id: migration_id, name, isOurs: ours === undefined || ours === name }
  })
})

/** Has the database a schema of that name, and nowhere a list of migrations? */
export const isForeign = Effect.gen(function* () {
  const { early, now, schema } = yield* places
  return schema && !now && early === null
})

const badState = (message: string) => new Migrator.MigrationError({ kind: "BadState", message })

export const foreign_message =
  'the database has a schema "troupe" that Troupe did not make. Use another database, or rename that schema'

/**
 * Fails where the database ran a migration of the same number and another name, as versions from before the first release
 * had: nothing here can be applied on top of those. A number beyond ours is that of a newer process, beside which this one
 * may run.
 */
const refuseForeign = Effect.gen(function* () {
  for (const { id, isOurs, name } of yield* ran) {
    if (isOurs) continue
    return yield* badState(
      `this database was made by a version of Troupe from before its first release (its migration ${id} ` +
        `is "${name}", not "${names.get(id)}") and cannot be upgraded. Nothing was changed. Use an empty database or another ` +
        `data directory, or go on with the version that made this one.`
    )
  }
})

const migrate = (table: string) =>
  Migrator.make({})({ loader: Migrator.fromRecord(migrations), table })

/** The list of an earlier version moves to the schema; an empty one is that of a start that did not come further. */
const moveEarly = Effect.fnUntraced(function* (early: string) {
  const sql = yield* SqlClient.SqlClient
  if ((yield* listed(early)).length === 0) {
    yield* sql.unsafe(`DROP TABLE ${early}`)
    return false
  }
  // As the Migrator makes it, so that its constraints have the names of a new one.
  yield* sql.unsafe(`CREATE TABLE ${list} (
    migration_id integer primary key,
    created_at timestamp with time zone not null default now(),
    name text not null
  )`)
  yield* sql.unsafe(`INSERT INTO ${list} SELECT migration_id, created_at, name FROM ${early}`)
  yield* sql.unsafe(`DROP TABLE ${early}`)
  return true
})

/** One process at a time, and all of it or nothing. A migration may take longer than a statement of a run may. */
const upgrade = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("SET LOCAL statement_timeout = 0")
  yield* sql.unsafe("SET LOCAL lock_timeout = 0")
  yield* sql.unsafe("SELECT pg_advisory_xact_lock(hashtextextended('troupe migrations', 0))::text")
  yield* refuseForeign
  const { early, now, schema: isThere } = yield* places
  if (now || (early !== null && (yield* moveEarly(early)))) return yield* migrate(list)
  if (isThere && early === null) return yield* badState(`${foreign_message}.`)
  // The first migration makes the schema `troupe`, so that the list cannot be in it before.
  yield* sql.unsafe(`CREATE SCHEMA ${new_schema}`)
  const done = yield* migrate(`${new_schema}.migrations`)
  yield* sql.unsafe(`ALTER TABLE ${new_schema}.migrations SET SCHEMA troupe`)
  yield* sql.unsafe(`DROP SCHEMA ${new_schema}`)
  return done
})

/** The library says which migration failed: this says why, too. */
const explained = <E>(error: E | Migrator.MigrationError | SqlError.SqlError) => {
  if (SqlError.isSqlError(error)) return withReason(error)
  if (!(error instanceof Migrator.MigrationError) || error.cause === undefined) return error
  const message = `${error.message}: ${reasonOf(error.cause)}`
  return new Migrator.MigrationError({ kind: error.kind, cause: error.cause, message })
}

/** Brings the database up to date; the numbers and names of what it ran. */
export const run: Effect.Effect<
  ReadonlyArray<readonly [id: number, name: string]>,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> = Effect.flatMap(SqlClient.SqlClient, (sql) => inTransaction(sql)(upgrade)).pipe(
  Effect.catchTag("StoreError", Effect.die),
  Effect.mapError(explained),
  Effect.provideService(AnswerUnlimited, true)
)

/** Fails where there is no store, or one that a start of this version would bring up to date. Changes nothing. */
const requireCurrent = Effect.gen(function* () {
  yield* refuseForeign
  const last = Math.max(0, ...(yield* ran).map(({ id }) => id))
  if (last >= newest) return
  if (yield* isForeign) return yield* badState(`${foreign_message}.`)
  return yield* badState(
    last === 0
      ? "there is no store of Troupe in this database. Nothing was changed. A start of the service makes one."
      : `this store is of an older version: it has migration ${last} of ${newest}. Nothing was changed. Start the service with ` +
          `this version, which runs the rest, or use the commands of the version that made it.`
  )
}).pipe(Effect.catchTag("StoreError", Effect.die), Effect.mapError(explained))

export const layer: Layer.Layer<
  never,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> = Layer.effectDiscard(
  Effect.flatMap(MayUpgrade, (may) => (may ? Effect.asVoid(run) : requireCurrent))
)
