/**
 * The tables of a feature, beside those of every store: a feature declares its migrations, and of each table what an erasure does
 * with its rows. Row security, the tenants' role and the erasure follow from that. The declaration is kept in the database, so
 * that a process erases in the tables of a feature that it does not have.
 */
import { Effect, Layer, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import type { Table } from "../../../services/Rows.ts"
import { rowReader } from "./DecodedRows.ts"
import { MayUpgrade } from "./Upgrading.ts"
import * as Migrations from "./Migrations.ts"
import { inTransaction } from "./SqlFailure.ts"
import * as TenantReads from "./TenantReads.ts"

/**
 * What is overwritten in a column: `text`, the whole column, which is one text; `said`, what would be overwritten in an event of
 * a run; or a list, these members of the record that the column holds as JSON.
 */
const Marked = Schema.Union([Schema.Literals(["text", "said"]), Schema.Array(Schema.String)])

/**
 * A list: the columns with texts from outside, and a row that names the subject is removed. A record: what is overwritten in each
 * column, and the row stays. `{}`: nothing in it names a person.
 */
export const Erased = Schema.Union([
  Schema.Array(Schema.String),
  Schema.Record(Schema.String, Marked)
])
export type Erased = typeof Erased.Type

/** What an erasure does in tables that are read as `Rows`. */
export const erasedIn = (
  tables: ReadonlyArray<Pick<Table, "erased" | "name">>
): Readonly<Record<string, Erased>> =>
  Object.fromEntries(
    tables.map(({ erased: { marked = {}, removed } = {}, name }) => [
      name,
      removed ??
        Object.fromEntries(
          Object.entries(marked).map(([column, as]) => [
            column,
            typeof as === "string" ? as : [...as]
          ])
        )
    ])
  )

export interface FeatureTables {
  /** The feature's name: lower-case letters, digits and `_`. */
  readonly feature: string
  /** Statements by number and name (`0001_notes`). Released ones are never changed, and each table is in the schema `troupe`. */
  readonly migrations: Readonly<Record<string, ReadonlyArray<string>>>
  /** Every table that the migrations make (of those that are read as `Rows`: `erasedIn`). Each has a column `tenant`, unless it is listed in `of_all`. */
  readonly tables: Readonly<Record<string, Erased>>
  /** Tables without rows of tenants. Absent = none. */
  readonly of_all?: ReadonlyArray<string>
}

const identifier = Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9_]{0,62}$/))
const isIdentifier = Schema.is(identifier)

const readDeclared = rowReader(
  Schema.Struct({ name: identifier, erased: Schema.fromJsonString(Erased) }),
  "tables of features"
)

/** What an erasure does in the tables of all features that the database has. */
export const declared = (sql: SqlClient.SqlClient) =>
  readDeclared(sql, "SELECT name, erased FROM troupe.feature_tables ORDER BY name")

const Found = Schema.Struct({
  name: Schema.String,
  of_tenant: Schema.Boolean,
  secured: Schema.Boolean,
  declared: Schema.Boolean,
  /** Its columns, and those of them that hold texts. */
  columns: Schema.Array(Schema.String),
  texts: Schema.Array(Schema.String)
})
type Found = typeof Found.Type
const readFound = rowReader(Found, "tables of the schema")

/** Tables that no other feature has. Those of every store are older than the feature, and so are left out where it is made. */
const tablesNow = (sql: SqlClient.SqlClient, feature: string) =>
  readFound(
    sql,
    `SELECT c.relname::text AS name, c.relrowsecurity AS secured, 'tenant' = ANY (a.columns) AS of_tenant, a.columns, a.texts,
           EXISTS (SELECT FROM troupe.feature_tables f WHERE f.name = c.relname) AS declared
         FROM pg_class c CROSS JOIN LATERAL (
           SELECT coalesce(array_agg(a.attname::text), '{}') AS columns,
             coalesce(array_agg(a.attname::text) FILTER (WHERE t.typcategory = 'S'), '{}') AS texts
           FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
           WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) a
         WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname !~ '^migrations'
           AND NOT EXISTS (SELECT FROM troupe.feature_tables f WHERE f.name = c.relname AND f.feature <> $1::text)`,
    [feature]
  )

const wrong = (message: string) => new Migrator.MigrationError({ kind: "BadState", message })

/** What is wrong with what an erasure does in a table: it would fail for every subject. */
const erasureFault = (erased: Erased, { columns, of_tenant, texts }: Found): string | undefined => {
  const isRemoved = Array.isArray(erased)
  const named: ReadonlyArray<string> = isRemoved ? erased : Object.keys(erased)
  if (!of_tenant && named.length > 0) return "is of all tenants, so nothing in it can be erased"
  const missing = named.find((column) => !columns.includes(column) || !isIdentifier(column))
  if (missing !== undefined) return `has no column ${missing} that could be erased`
  const other = isRemoved ? undefined : named.find((column) => !texts.includes(column))
  return other === undefined
    ? undefined
    : `has a column ${other} that is no text, so nothing in it can be overwritten`
}

/** What is wrong with a table of the declaration; undefined if nothing is. */
const tableFault = (
  { feature, of_all = [], tables }: FeatureTables,
  before: ReadonlySet<string>,
  name: string,
  table: Found | undefined
): string | undefined => {
  if (table === undefined) {
    return `feature ${feature} declares the table ${name}, which is not there`
  }
  if (before.has(name) && !table.declared) {
    return `feature ${feature} declares the table ${name}, which it does not make`
  }
  if (table.of_tenant === of_all.includes(name)) {
    return table.of_tenant
      ? `the table ${name} of feature ${feature} has a column tenant, so it is not of all tenants`
      : `the table ${name} of feature ${feature} has no column tenant, so nothing keeps tenants apart in it`
  }
  const fault = erasureFault(tables[name] ?? {}, table)
  return fault === undefined ? undefined : `the table ${name} of feature ${feature} ${fault}`
}

/** Secures the tables and keeps what is declared of them. Fails where a table and its declaration do not fit. */
const declare = Effect.fnUntraced(function* (of: FeatureTables, before: ReadonlySet<string>) {
  const { feature, tables } = of
  const sql = yield* SqlClient.SqlClient
  const found = new Map((yield* tablesNow(sql, feature)).map((each) => [each.name, each]))
  const undeclared = [...found.keys()].find(
    (name) => !before.has(name) && !Object.hasOwn(tables, name)
  )
  if (undeclared !== undefined) {
    return yield* wrong(
      `feature ${feature} makes the table ${undeclared}, which it does not declare`
    )
  }
  for (const [name, erased] of Object.entries(tables)) {
    const table = found.get(name)
    const fault = tableFault(of, before, name, table)
    if (fault !== undefined || table === undefined) return yield* wrong(fault ?? name)
    if (table.of_tenant && !table.secured) {
      yield* sql.unsafe(`ALTER TABLE troupe.${name} ENABLE ROW LEVEL SECURITY`)
      yield* sql.unsafe(
        `CREATE POLICY of_tenant ON troupe.${name} FOR SELECT USING (tenant = current_setting('troupe.tenant', true))`
      )
    }
    yield* sql.unsafe(
      `INSERT INTO troupe.feature_tables (name, feature, erased) VALUES ($1::text, $2::text, $3::text)
       ON CONFLICT (name) DO UPDATE SET erased = excluded.erased`,
      [name, feature, JSON.stringify(erased)]
    )
  }
  yield* sql.unsafe(
    "DELETE FROM troupe.feature_tables WHERE feature = $1::text AND name <> ALL ($2::text[])",
    [feature, Object.keys(tables)]
  )
})

/** The declaration of a process that a newer one has overtaken says nothing any more. */
const isNewest = Effect.gen(function* () {
  const last = Math.max(0, ...(yield* Migrations.ran).map(({ id }) => id))
  return last <= (yield* Migrations.newest)
})

/** A gap would make every version look like one that a newer one has overtaken. */
const isNumbered = (migrations: FeatureTables["migrations"]): boolean =>
  Object.keys(migrations)
    .toSorted()
    .every((name, at) => name.startsWith(`${String(at + 1).padStart(4, "0")}_`))

const migrated = Effect.fnUntraced(function* (of: FeatureTables) {
  const { feature, migrations } = of
  if (!isIdentifier(feature)) {
    return yield* wrong(`the feature's name ${JSON.stringify(feature)} is none for its tables`)
  }
  if (!isNumbered(migrations)) {
    return yield* wrong(`the migrations of feature ${feature} are not numbered from 0001 on`)
  }
  const sql = yield* SqlClient.SqlClient
  // What another process makes before it is not this feature's.
  yield* Migrations.alone
  const before = new Set((yield* tablesNow(sql, of.feature)).map(({ name }) => name))
  yield* Migrations.run
  if (yield* isNewest) yield* declare(of, before)
})

/**
 * Makes the tables, in one transaction with their row security, or fails and changes nothing. Needs a database that has the
 * tables of every store. Reads of tenants are given with it, because they need the right to read these tables.
 */
export const layer = (
  of: FeatureTables
): Layer.Layer<TenantReads.TenantReads, Migrations.StartError, SqlClient.SqlClient> => {
  const migrations = Object.fromEntries(
    Object.entries(of.migrations).map(([name, statements]) => [
      name,
      SqlClient.SqlClient.use((sql) =>
        Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
      )
    ])
  )
  const make = Effect.gen(function* () {
    if (!(yield* MayUpgrade)) return yield* Migrations.requireCurrent
    const sql = yield* SqlClient.SqlClient
    yield* Effect.catchTag(inTransaction(sql)(migrated(of)), "StoreError", Effect.die)
  })
  const made = Layer.effectDiscard(make).pipe(
    Layer.provide(
      Layer.merge(
        Layer.succeed(Migrations.Known, migrations),
        Layer.succeed(Migrations.List, `troupe.migrations_${of.feature}`)
      )
    )
  )
  // Not that of the stores beneath, which was made before these tables.
  return Layer.provide(Layer.fresh(TenantReads.layer), made)
}
