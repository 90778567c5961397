/**
 * Migrates the database's schema by numbered migrations. Missing migrations run in one transaction; if several processes start
 * together, one of them runs them.
 *
 * A released migration is never changed, because a database that ran it does not run it again. Each change of the schema is a new
 * migration. It imports only `effect` and its own files, so that it stays what it was when it was released. With it comes a dump
 * of a database that it made, which a test upgrades from then on (`test/sql/dump.ts`).
 *
 * Processes of an older version go on beside one that has migrated their database further, and may start on it again. A migration
 * after which they would do harm says so at the end of its name: `0025_heads_needs_0023` refuses starts of versions that end
 * before migration 23.
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
import { migration as answers } from "./migrations/0017_answers.ts"
import { migration as answerMessages } from "./migrations/0018_messages.ts"
import { migration as stops } from "./migrations/0019_stops.ts"
import { migration as guards } from "./migrations/0020_guards.ts"

/** The migrations by number and name. New ones are only appended. */
const migrations = {
  /** Every table of the first release, and its functions. */
  "0001_schema": schema,
  /** Functions that accept several messages, and begin their runs, in one statement. */
  "0002_messages": messages,
  /** Functions whose statements can be planned in one way only. */
  "0003_plans": plans,
  "0004_worlds": worlds,
  /** Messages and ends of runs: one statement for all rows of a batch, in place of one for each row. */
  "0005_sets": sets,
  "0006_memory": memory,
  /** Records of workspaces. */
  "0007_platform": platform,
  /** Actions that workspaces authorise in advance. */
  "0008_authorizations": authorizations,
  /** Received events, channels of conversations, and notices to people. */
  "0009_channels": channels,
  /** The bytes of images and other files of messages. */
  "0010_files": files,
  /** Row security by tenant. */
  "0011_tenants": tenants,
  /** Digests of the access tokens that admins create. */
  "0012_tokens": tokens,
  /** The records of erasures. */
  "0013_erasures": erasures,
  /** An index of handoffs. */
  "0014_handoffs": handoffs,
  /** Drafts of rubrics and system cards. */
  "0015_drafts": drafts,
  /** Rows that store two events that were appended together. */
  "0016_pairs": pairs,
  /** A function that amends several runs, with one plan. */
  "0017_answers": answers,
  "0018_messages": answerMessages,
  /** Tenants whose tools are stopped. */
  "0019_stops": stops,
  /** What the database refuses by itself, whatever its locale, and keys of side effects. */
  "0020_guards": guards
}

/** The number of this version's last migration. */
export const newest = Object.keys(migrations).length

/** The table that lists the migrations that have run. */
const list = "troupe.migrations"
/** The name of that table in earlier versions, in the first schema of their search path, usually `public`. */
const early_list = "troupe_migrations"
/** The schema of that table while the first migration creates the schema `troupe`. */
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

/**
 * Whether the schema `troupe` exists, whether the list is in it, and otherwise the list of an earlier version, as it is written
 * in a statement.
 */
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

/**
 * The migrations that the database has run, by number; none where it has no schema of Troupe. `isOurs`: this version has no other
 * migration with that number.
 */
export const ran = Effect.gen(function* () {
  const { early, now } = yield* places
  const table = now ? list : early
  const rows = table === null ? [] : yield* listed(table)
  return rows.map(({ migration_id, name }) => {
    const ours = names.get(migration_id)
    return { id: migration_id, name, isOurs: ours === undefined || ours === name }
  })
})

/** Whether the database has a schema `troupe` but no list of migrations. */
export const isForeign = Effect.gen(function* () {
  const { early, now, schema } = yield* places
  return schema && !now && early === null
})

const badState = (message: string) => new Migrator.MigrationError({ kind: "BadState", message })

export const foreign_message =
  'the database has a schema "troupe" that Troupe did not make. Use another database, or rename that schema'

/**
 * Fails where the database ran a migration with the same number and another name, as versions before the first release had them:
 * this version's migrations cannot be applied after those. A number above this version's last one belongs to a newer process,
 * beside which this one may run.
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

/** Fails where the database stores bytes of another encoding, or of none: it would cut and count texts between their letters. */
const refuseEncoding = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql.unsafe<{ readonly name: string }>(
    "SELECT current_setting('server_encoding') AS name"
  )
  if (found?.name === "UTF8") return
  return yield* badState(
    `the encoding of this database is ${found?.name}. Nothing was changed. Make one with ENCODING 'UTF8'; its locale may be any.`
  )
})

/** A newer version has brought the store to a migration beside which this version must not run. */
export class StoreTooNew extends Schema.TaggedError<StoreTooNew>()("StoreTooNew", {
  /** The last migration that a version has to know. */
  needed: Schema.Int,
  /** The last migration of this version. */
  known: Schema.Int,
  message: Schema.String
}) {}

type Ran = Effect.Success<typeof ran>

/** What is said of a schema that a newer version has brought further; undefined where none has. */
export const newerThanKnown = (all: Ran): StoreTooNew | string | undefined => {
  const last = Math.max(0, ...all.map(({ id }) => id))
  if (last <= newest) return undefined
  const brought = `the schema has migration ${last}, and this version ends with ${newest}`
  const needed = Math.max(0, ...all.map(({ name }) => Number(/_needs_(\d+)$/.exec(name)?.[1] ?? 0)))
  if (needed <= newest) {
    return `${brought}: a newer version runs on it. While that one replaces this one, both serve; do not go back to this version for good`
  }
  const message =
    `${brought}. It needs a version that has migration ${needed}. Nothing was changed. Start the version that migrated the store, ` +
    `or a later one; to go back to this one, restore a backup from before its migration.`
  return new StoreTooNew({ needed, known: newest, message })
}

/** Fails where a newer version says that this one must not run beside it. */
const refuseTooNew = Effect.gen(function* () {
  const said = newerThanKnown(yield* ran)
  if (said instanceof StoreTooNew) return yield* said
})

const warnOfNewer = Effect.gen(function* () {
  const said = newerThanKnown(yield* ran)
  if (typeof said === "string") yield* Effect.logWarning(said)
})

const migrate = (table: string) =>
  Migrator.make({})({ loader: Migrator.fromRecord(migrations), table })

/**
 * Moves the list of an earlier version to the schema `troupe`. False for an empty list, which is removed: it comes from a start
 * that got no further.
 */
const moveEarly = Effect.fnUntraced(function* (early: string) {
  const sql = yield* SqlClient.SqlClient
  if ((yield* listed(early)).length === 0) {
    yield* sql.unsafe(`DROP TABLE ${early}`)
    return false
  }
  // The table is created as the Migrator does it, so that its constraints have the same names as in a new one.
  yield* sql.unsafe(`CREATE TABLE ${list} (
    migration_id integer primary key,
    created_at timestamp with time zone not null default now(),
    name text not null
  )`)
  yield* sql.unsafe(`INSERT INTO ${list} SELECT migration_id, created_at, name FROM ${early}`)
  yield* sql.unsafe(`DROP TABLE ${early}`)
  return true
})

/** Runs the missing migrations: in one process at a time, all or none, and without the time limits of statements. */
const upgrade = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("SET LOCAL statement_timeout = 0")
  yield* sql.unsafe("SET LOCAL lock_timeout = 0")
  yield* sql.unsafe("SELECT pg_advisory_xact_lock(hashtextextended('troupe migrations', 0))::text")
  yield* refuseEncoding
  yield* refuseForeign
  yield* refuseTooNew
  const { early, now, schema: isThere } = yield* places
  if (now || (early !== null && (yield* moveEarly(early)))) return yield* migrate(list)
  if (isThere && early === null) return yield* badState(`${foreign_message}.`)
  // The first migration creates the schema `troupe`, so the list cannot be in it before.
  yield* sql.unsafe(`CREATE SCHEMA ${new_schema}`)
  const done = yield* migrate(`${new_schema}.migrations`)
  yield* sql.unsafe(`ALTER TABLE ${new_schema}.migrations SET SCHEMA troupe`)
  yield* sql.unsafe(`DROP SCHEMA ${new_schema}`)
  return done
})

/** Why a store cannot be used. */
export type StartError = Migrator.MigrationError | SqlError.SqlError | StoreTooNew

/** Adds the cause to an error: the library only says which migration failed. */
const explained = <E>(error: E | Migrator.MigrationError | SqlError.SqlError) => {
  if (SqlError.isSqlError(error)) return withReason(error)
  if (!(error instanceof Migrator.MigrationError) || error.cause === undefined) return error
  const message = `${error.message}: ${reasonOf(error.cause)}`
  return new Migrator.MigrationError({ kind: error.kind, cause: error.cause, message })
}

/** Migrates the database. Gives the numbers and names of the migrations that it ran. */
export const run: Effect.Effect<
  ReadonlyArray<readonly [id: number, name: string]>,
  StartError,
  SqlClient.SqlClient
> = Effect.flatMap(SqlClient.SqlClient, (sql) => inTransaction(sql)(upgrade)).pipe(
  Effect.tap(warnOfNewer),
  Effect.catchTag("StoreError", Effect.die),
  Effect.mapError(explained),
  Effect.provideService(AnswerUnlimited, true)
)

/** Fails where there is no store, or one that this version would migrate at its start. Changes nothing. */
const requireCurrent = Effect.gen(function* () {
  yield* refuseEncoding
  yield* refuseForeign
  yield* refuseTooNew
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

export const layer: Layer.Layer<never, StartError, SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.flatMap(MayUpgrade, (may) => (may ? Effect.asVoid(run) : requireCurrent))
)
