/**
 * PGlite for tests: in memory, and without a row each time, with a schema or none. Making one costs seconds of CPU time, and
 * loading its dump half of one: the dump is made once, and what a test leaves is emptied for the next one of the process.
 */
import { cpSync, mkdtempSync, openAsBlob, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { PGlite } from "@electric-sql/pglite"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import type { SqlNotify } from "../../layers/sql/engine/SqlNotify.ts"
import { TenantReads } from "../../layers/sql/engine/TenantReads.ts"
import * as SemStreamsTables from "../../layers/sql/semstreams/SemStreamsTables.ts"
import { platformTables } from "../../layers/stores/spectral/platform/PlatformTables.ts"
import { worldTables } from "../../layers/stores/spectral/worlds/StoredWorlds.ts"
import * as SpectralTables from "../../layers/sql/spectral/SpectralTables.ts"
import { digestOf, kept } from "./Kept.ts"

const engine = join(import.meta.dirname, "../../layers/sql/engine")

/** What the dumps are made by. */
const makers = {
  empty: [join(import.meta.dirname, "../../package-lock.json")],
  migrated: [
    join(import.meta.dirname, "../../package-lock.json"),
    ...["migrations", "Migrations.ts", "TenantReads.ts", "FeatureTables.ts"].map((name) =>
      join(engine, name)
    ),
    ...["semstreams/migrations", "semstreams/SemStreamsTables.ts"].map((name) =>
      join(engine, "..", name)
    ),
    ...["spectral/migrations", "spectral/SpectralTables.ts"].map((name) =>
      join(engine, "..", name)
    ),
    // What an erasure does in these tables.
    ...["semstreams", "spectral/platform", "spectral/worlds"].map((name) =>
      join(engine, "../../stores", name)
    )
  ]
}

const dumped = async (pg: PGlite, path: string): Promise<void> => {
  const dump = await pg.dumpDataDir("none")
  await pg.close()
  writeFileSync(path, Buffer.from(await dump.arrayBuffer()))
}

const emptyDump = Effect.suspend(() =>
  kept("empty", digestOf(makers.empty), (path) =>
    Effect.promise(async () => dumped(await PGlite.create(), path))
  )
)

const inTemporary = <A, E, R>(use: (path: string) => Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-migrated-"))),
    (path) => use(join(path, "db")),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )

/**
 * A directory with an empty database, to be copied. It has the schema, and the role that tenants read as: a process looks for both
 * when it starts, and makes what is missing.
 */
export const template = Effect.suspend(() =>
  kept("directory", digestOf(makers.migrated), (path) =>
    inTemporary((directory) =>
      Effect.gen(function* () {
        yield* Effect.provide(
          TenantReads,
          Layer.provide(
            Layer.provideMerge(
              SemStreamsTables.layer,
              SpectralTables.layerOf([...platformTables, ...worldTables])
            ),
            Layer.provideMerge(Migrations.layer, Pglite.layer({ directory }))
          )
        )
        cpSync(directory, path, { recursive: true })
      })
    )
  )
)

const migratedDump = Effect.suspend(() =>
  kept("migrated", digestOf(makers.migrated), (path) =>
    Effect.flatMap(template, (from) =>
      inTemporary((directory) => {
        cpSync(from, directory, { recursive: true })
        return Effect.promise(async () =>
          dumped(await PGlite.create(join(directory, "pgdata")), path)
        )
      })
    )
  )
)

interface Instance {
  readonly context: Context.Context<SqlClient.SqlClient | SqlNotify>
  readonly scope: Scope.Closeable
  /** What its session has set, and what its schema is, when no test has used it. */
  readonly print: string
  uses: number
}

/** Instances that are alike when no test has used them. */
interface Kind {
  readonly idle: Array<Instance>
  /** The path of what a new one is loaded from. */
  readonly dump: Effect.Effect<string, unknown>
  /** Removes what a test left. */
  readonly empty: Effect.Effect<void, unknown, SqlClient.SqlClient>
  /** What a test must not leave changed. */
  readonly print: Effect.Effect<string, unknown, SqlClient.SqlClient>
}

/** More are closed: a test needs two at most. */
const idle_max = 2
/** The catalogue grows with each use, and nothing vacuums it; as many make no difference yet. */
const uses_max = 100
/** A session that somebody still holds is given up after this. */
const reset_ms_max = 5_000

const all = (statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const statement of statements) yield* sql.unsafe(statement)
  })

const text = (query: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql.unsafe<{ readonly said: string | null }>(`SELECT (${query}) AS said`)
    return rows[0]?.said ?? ""
  })

/** Whatever a session keeps besides its settings. */
const session = ["UNLISTEN *", "DEALLOCATE ALL", "DISCARD TEMP", "DISCARD PLANS"]
const settings = `SELECT string_agg(name || ' ' || setting, ',' ORDER BY name) FROM pg_settings WHERE source = 'session'`

/** Every schema but these, with what is in it. */
const dropAllBut = (...kept: ReadonlyArray<string>) => `DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT nspname FROM pg_namespace
      WHERE nspname !~ '^pg_' AND nspname <> ALL ('{${["information_schema", ...kept].join(",")}}')
    LOOP EXECUTE format('DROP SCHEMA %I CASCADE', name); END LOOP;
    CREATE SCHEMA IF NOT EXISTS public;
  END $$`

const empty: Kind = {
  idle: [],
  dump: emptyDump,
  empty: all([dropAllBut(), ...session]),
  print: text(settings)
}

/** The tables but the list of migrations: those of which a test has made a file, and numbers from their first again. */
const truncated = `DO $$ DECLARE used text; BEGIN
    SELECT string_agg(oid::regclass::text, ', ') INTO used FROM pg_class
    WHERE relnamespace = 'troupe'::regnamespace AND relkind = 'r' AND relname !~ '^(migrations|feature_tables)' AND pg_relation_size(oid) > 0;
    IF used IS NOT NULL THEN EXECUTE 'TRUNCATE ' || used || ' CASCADE'; END IF;
    PERFORM setval(s.seqrelid, s.seqstart, false) FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
    WHERE c.relnamespace = 'troupe'::regnamespace;
  END $$`

/**
 * Rows of the catalogue, also of what there is in `public`, where the extensions are: each change makes another version of its
 * row. Those of `pg_class` change with every truncation.
 */
const catalogue = [
  [
    "pg_class",
    "relnamespace",
    "x.relname, x.relkind, x.relrowsecurity, x.relforcerowsecurity, x.relacl, x.reloptions"
  ],
  ...[
    ["pg_proc", "pronamespace"],
    ["pg_constraint", "connamespace"],
    ["pg_type", "typnamespace"]
  ].map(([table, namespace]) => [table, namespace, "x.xmin"]),
  ...[
    ["pg_attribute", "attrelid"],
    ["pg_attrdef", "adrelid"],
    ["pg_index", "indexrelid"],
    ["pg_trigger", "tgrelid"],
    ["pg_policy", "polrelid"]
  ].map(([table, relation]) => [
    table,
    `(SELECT c.relnamespace FROM pg_class c WHERE c.oid = x.${relation})`,
    "x.xmin"
  ])
].map(
  ([table, namespace, columns]) =>
    `SELECT md5(string_agg(ROW(${columns})::text, ',' ORDER BY ROW(${columns})::text)) AS said FROM ${table} x WHERE ${namespace} IN ('troupe'::regnamespace, 'public'::regnamespace)`
)

const migrated: Kind = {
  idle: [],
  dump: migratedDump,
  empty: all([dropAllBut("troupe", "public"), truncated, ...session]),
  print: text(
    `SELECT concat_ws(' ', (${settings}), (SELECT string_agg(said, ' ') FROM (${catalogue.join(" UNION ALL ")}) c),
      (SELECT string_agg(rolname, ',' ORDER BY rolname) FROM pg_roles),
      (SELECT string_agg(m::text, ',' ORDER BY m::text) FROM troupe.migrations m))`
  )
}

const opened = (kind: Kind): Effect.Effect<Instance, unknown> =>
  Effect.gen(function* () {
    const path = yield* kind.dump
    const load = yield* Effect.promise(() => openAsBlob(path))
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(Layer.fresh(Pglite.layer({ load })), scope)
    const print = yield* Effect.provide(kind.print, context)
    return { context, scope, print, uses: 0 }
  })

/** Whether it is as it was opened. The real clock, also in a test that sets its own. */
const isEmptied = (kind: Kind, instance: Instance): Effect.Effect<boolean> =>
  Effect.raceFirst(
    Effect.match(Effect.provide(Effect.andThen(kind.empty, kind.print), instance.context), {
      onSuccess: (found) => found === instance.print,
      onFailure: () => false
    }),
    Effect.as(
      Effect.promise(() => setTimeout(reset_ms_max, undefined, { ref: false })),
      false
    )
  )

const giveBack = (kind: Kind) => (instance: Instance) =>
  Effect.gen(function* () {
    instance.uses++
    const fits = instance.uses < uses_max && kind.idle.length < idle_max
    if (fits && (yield* isEmptied(kind, instance))) kind.idle.push(instance)
    else yield* Scope.close(instance.scope, Exit.void)
  })

type Client = Layer.Layer<SqlClient.SqlClient | SqlNotify, SqlError.SqlError>

const layerOf = (kind: Kind): Client =>
  Layer.effectContext(
    Effect.map(
      Effect.acquireRelease(
        Effect.suspend(() => {
          const instance = kind.idle.pop()
          return instance === undefined ? Effect.orDie(opened(kind)) : Effect.succeed(instance)
        }),
        giveBack(kind)
      ),
      ({ context }) => context
    )
  )

/** A client of an empty database. */
export const layer: Client = layerOf(empty)

/** A client of a database with the schema of now and no rows. */
export const migratedLayer: Client = layerOf(migrated)
