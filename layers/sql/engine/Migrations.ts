/**
 * Migrates the database's schema by numbered migrations. Missing migrations run in one transaction; if several processes start
 * together, one of them runs them.
 *
 * A released migration is never changed, because a database that ran it does not run it again. Each change of the schema is a new
 * migration. It imports only `effect` and its own files, so that it stays what it was when it was released. The databases that
 * releases leave behind (`test/release`) are upgraded by a test from then on.
 *
 * Processes of an older version go on beside one that has migrated their database further, and may start on it again. A migration
 * after which they would do harm says so at the end of its name: `0025_heads_needs_0023` refuses starts of versions that end
 * before migration 23.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { Migrator, SqlClient, SqlError } from "effect/sql"
import { AnswerUnlimited, MayUpgrade } from "./Upgrading.ts"
import { rowReader } from "./DecodedRows.ts"
import { inTransaction, reasonOf, withReason } from "./SqlFailure.ts"
import { migration as first } from "./migrations/0001_start.ts"

type Migration = Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>

/** The migrations of this version by number and name. New ones are only appended. Tests make up those of a later version. */
export const Known = Context.Reference<Readonly<Record<string, Migration>>>(
  "troupe/sql/KnownMigrations",
  { defaultValue: () => ({ "0001_start": first }) }
)

/** The number of this version's last migration. */
export const newest: Effect.Effect<number> = Effect.map(Known, (known) => Object.keys(known).length)

const first_list = "troupe.migrations"

/** The table that lists which of `Known` have run. A feature has a list of its own. */
export const List = Context.Reference<string>("troupe/sql/MigrationList", {
  defaultValue: () => first_list
})

/** The feature whose list this is. Undefined = the list of every store. */
const featureOf = (list: string): string | undefined =>
  list === first_list ? undefined : list.slice(first_list.length + 1)

const Ran = Schema.Struct({ migration_id: Schema.Int, name: Schema.String })
const readRan = rowReader(Ran, "migrations")
const readPlaces = rowReader(
  Schema.Struct({ schema: Schema.Boolean, list: Schema.Boolean }),
  "places of migrations"
)

/** Whether the schema `troupe` exists, and whether the list is in it. */
const places = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* readPlaces(
    sql,
    `SELECT to_regnamespace('troupe') IS NOT NULL AS schema, to_regclass('${first_list}') IS NOT NULL AS list`
  )
  return found ?? { schema: false, list: false }
})

/**
 * The migrations that the database has run, by number; none where it has no schema of Troupe. `ours`: the name that this version
 * has for the number, if it has one; `isOurs`: it has no other.
 */
export const ran = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const list = yield* List
  const found = yield* sql.unsafe("SELECT WHERE to_regclass($1::text) IS NOT NULL", [list])
  if (found.length === 0) return []
  const rows = yield* readRan(sql, `SELECT migration_id, name FROM ${list} ORDER BY migration_id`)
  const names = new Map(
    Object.keys(yield* Known).map((name) => [Number(name.slice(0, 4)), name.slice(5)])
  )
  return rows.map(({ migration_id, name }) => {
    const ours = names.get(migration_id)
    return { id: migration_id, name, ours, isOurs: ours === undefined || ours === name }
  })
})

/** Whether the database has a schema `troupe` but no list of migrations. */
export const isForeign = Effect.map(places, ({ list, schema }) => schema && !list)

const badState = (message: string) => new Migrator.MigrationError({ kind: "BadState", message })

export const foreign_message =
  'the database has a schema "troupe" that Troupe did not make. Use another database, or rename that schema'

const nameOf = (id: number, name: string) => `${String(id).padStart(4, "0")}_${name}`

/**
 * Fails where the database ran a migration with the same number and another name, as versions before the first release had them,
 * or a feature whose migration was renamed: this version's migrations cannot be applied after those. A number above this
 * version's last one belongs to a newer process, beside which this one may run.
 */
const refuseForeign = Effect.gen(function* () {
  const feature = featureOf(yield* List)
  for (const { id, isOurs, name, ours = "" } of yield* ran) {
    if (isOurs) continue
    if (feature !== undefined) {
      return yield* badState(
        `the feature ${feature} has a migration ${nameOf(id, ours)}, and this database ran it as ${nameOf(id, name)}. Nothing was ` +
          `changed. A migration that ran keeps its name and its statements: give it its old name, and write what is new into a ` +
          `later one.`
      )
    }
    return yield* badState(
      `this database was made by a version of Troupe from before its first release (its migration ${id} ` +
        `is "${name}", not "${ours}") and cannot be upgraded. Nothing was changed. Use an empty database or another ` +
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
  /** What the store has that this version does not know, and what to do. */
  message: Schema.String
}) {}

type Ran = Effect.Success<typeof ran>

/** What is said of a schema, or of a feature's tables, that a newer version than this one, which ends with `newest`, has brought further; else undefined. */
export const newerThanKnown = (
  all: Ran,
  newest: number,
  feature?: string
): StoreTooNew | string | undefined => {
  const last = Math.max(0, ...all.map(({ id }) => id))
  if (last <= newest) return undefined
  const brought =
    feature === undefined
      ? `the schema has migration ${last}, and this version ends with ${newest}`
      : `the feature ${feature} has migration ${last} here, and this version of the feature ends with ${newest}`
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
  const said = newerThanKnown(yield* ran, yield* newest, featureOf(yield* List))
  if (said instanceof StoreTooNew) return yield* said
})

const warnOfNewer = Effect.gen(function* () {
  const said = newerThanKnown(yield* ran, yield* newest, featureOf(yield* List))
  if (typeof said === "string") yield* Effect.logWarning(said)
})

const migrate = Effect.gen(function* () {
  return yield* Migrator.make({})({
    loader: Migrator.fromRecord(yield* Known),
    table: yield* List
  })
})

/** Until the open transaction ends, no other process migrates, and statements have no time limits. */
export const alone = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe("SET LOCAL statement_timeout = 0")
  yield* sql.unsafe("SET LOCAL lock_timeout = 0")
  yield* sql.unsafe("SELECT pg_advisory_xact_lock(hashtextextended('troupe migrations', 0))::text")
}).pipe(Effect.provideService(AnswerUnlimited, true))

/** Runs the missing migrations: all or none. */
const upgrade = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* alone
  yield* refuseEncoding
  yield* refuseForeign
  yield* refuseTooNew
  const found = yield* places
  if (!found.list) {
    if (found.schema) return yield* badState(`${foreign_message}.`)
    // The list is in it, and is there before the first migration runs.
    yield* sql.unsafe("CREATE SCHEMA troupe")
  }
  return yield* migrate
})

/** Why a store cannot be used. */
export type StartError = Migrator.MigrationError | SqlError.SqlError | StoreTooNew

/** Adds the cause to an error, and whose migration it is: the library only says a migration's number and name. */
const explained =
  (list: string) =>
  <E>(error: E | Migrator.MigrationError | SqlError.SqlError) => {
    if (SqlError.isSqlError(error)) return withReason(error)
    if (!(error instanceof Migrator.MigrationError) || error.cause === undefined) return error
    const feature = featureOf(list)
    const [, id, name = ""] = /^Migration "(\d+)_(.*)" failed$/.exec(error.message) ?? []
    const failed =
      feature === undefined || id === undefined
        ? error.message
        : `migration ${nameOf(Number(id), name)} of the feature ${feature} failed`
    const message = `${failed}: ${reasonOf(error.cause)}`
    return new Migrator.MigrationError({ kind: error.kind, cause: error.cause, message })
  }

const withExplained = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(List, (list) => Effect.mapError(effect, explained(list)))

/** Migrates the database. Gives the numbers and names of the migrations that it ran. */
export const run: Effect.Effect<
  ReadonlyArray<readonly [id: number, name: string]>,
  StartError,
  SqlClient.SqlClient
> = Effect.flatMap(SqlClient.SqlClient, (sql) => inTransaction(sql)(upgrade)).pipe(
  Effect.tap(warnOfNewer),
  Effect.catchTag("StoreError", Effect.die),
  withExplained,
  Effect.provideService(AnswerUnlimited, true)
)

/** Fails where there is no store, or one that this version would migrate at its start. Changes nothing. */
export const requireCurrent = Effect.gen(function* () {
  yield* refuseEncoding
  yield* refuseForeign
  yield* refuseTooNew
  const last = Math.max(0, ...(yield* ran).map(({ id }) => id))
  const known = yield* newest
  if (last >= known) return
  if (yield* isForeign) return yield* badState(`${foreign_message}.`)
  const feature = featureOf(yield* List)
  if (last === 0 && feature !== undefined) {
    return yield* badState(
      `this store has no tables of the feature ${feature}. Nothing was changed. A start of the service with it makes them.`
    )
  }
  return yield* badState(
    last === 0
      ? "there is no store of Troupe in this database. Nothing was changed. A start of the service makes one."
      : `this store is of an older version${feature === undefined ? "" : ` of the feature ${feature}`}: it has migration ${last} of ${known}. Nothing was changed. Start the service with ` +
          `this version, which runs the rest, or use the commands of the version that made it.`
  )
}).pipe(Effect.catchTag("StoreError", Effect.die), withExplained)

export const layer: Layer.Layer<never, StartError, SqlClient.SqlClient> = Layer.effectDiscard(
  Effect.flatMap(MayUpgrade, (may) => (may ? Effect.asVoid(run) : requireCurrent))
)

/** At the start of the only process of a store, every lease in it belongs to one that has ended: what those held is free at once. */
const free = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  inTransaction(sql)(
    Effect.gen(function* () {
      yield* sql`DELETE FROM troupe.processes`
      yield* sql`
        UPDATE troupe.outbox_keys k SET due_at = 0 FROM troupe.outbox o
        WHERE o.tenant = k.tenant AND o.key = k.key AND o.lease_owner IS NOT NULL`
      yield* sql`UPDATE troupe.outbox SET lease_owner = NULL WHERE lease_owner IS NOT NULL`
      yield* sql`
        UPDATE troupe.tool_messages SET owner = NULL, due_at = 0 WHERE status = 0 AND owner IS NOT NULL`
      yield* sql`UPDATE troupe.tool_workers SET expires_at = 0 WHERE expires_at > 0`
    })
  )
)

/** As `layer`, for an engine that only one process can open. */
export const ofSoleProcess: typeof layer = Layer.provide(Layer.effectDiscard(free), layer)
