/**
 * Runs reads on behalf of a principal with a database role that sees the rows of one tenant only: a statement that forgets its
 * tenant condition finds no row of another tenant. The engine, which appends and recovers for all tenants, uses the role that
 * connects, which owns the tables. Private to this room.
 *
 * Roles belong to the server, not to the database: each role that connects has a tenant role of its own, so that nobody can use
 * it to read another's databases. When a process starts, it creates that role and grants it what it may read.
 */
import { Context, Effect, identity, Layer, Schema } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { rowReader } from "./DecodedRows.ts"
import { ServerSession } from "./ServerSession.ts"
import { inTransaction, isInTransaction } from "./SqlFailure.ts"

export class TenantReads extends Context.Service<
  TenantReads,
  {
    /** The tenant role; undefined where there is none, of which the start has warned. */
    readonly role: string | undefined
    /**
     * Runs a read with the tenant's role: in a session of that role, or in a transaction of its own where there is one session. Its
     * statements may see different moments. In an open transaction it runs as a part of that one and with its role: it is then what
     * a call reads between its writes.
     */
    of(
      tenant: Tenant
    ): <A, E, R>(read: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>
  }
>()("troupe/layers/sql/engine/TenantReads") {}

/** Reads whether the role exists, which rights it lacks, and whether it reads all columns of the tokens but their digests. A name that would have to be quoted or cut is hashed. */
const found_statement = `WITH me AS (
    SELECT 'troupe_tenant_' || CASE WHEN session_user ~ '^[a-z0-9_]{1,49}$' THEN session_user::text
      ELSE md5(session_user::text) END AS name)
  SELECT me.name, quote_ident(session_user) AS connects, r.oid IS NOT NULL AS made,
    coalesce(r.rolsuper OR r.rolbypassrls OR EXISTS (SELECT FROM pg_class c
      WHERE c.relnamespace = 'troupe'::regnamespace AND pg_has_role(r.oid, c.relowner, 'MEMBER')), false) AS sees_all,
    coalesce(pg_has_role(session_user, r.oid, CASE
      WHEN current_setting('server_version_num')::int4 < 160000 THEN 'MEMBER' ELSE 'SET' END), false) AS granted,
    coalesce(has_schema_privilege(r.oid, 'troupe', 'USAGE'), false) AS enters,
    ARRAY(SELECT c.relname::text FROM pg_class c
      WHERE c.relnamespace = 'troupe'::regnamespace AND (c.relkind = 'v' OR (c.relkind = 'r' AND c.relrowsecurity))
        AND NOT coalesce(has_table_privilege(r.oid, c.oid, 'SELECT'), false) AND c.oid IS DISTINCT FROM tokens ORDER BY 1) AS unread,
    ARRAY(SELECT quote_ident(a.attname) FROM pg_attribute a WHERE a.attrelid = tokens AND a.attnum > 0
      AND NOT a.attisdropped AND a.attname <> 'sha256' ORDER BY a.attnum) AS shown,
    coalesce((SELECT bool_and(has_column_privilege(r.oid, tokens, a.attnum, 'SELECT') = (a.attname <> 'sha256'))
      FROM pg_attribute a WHERE a.attrelid = tokens AND a.attnum > 0 AND NOT a.attisdropped), false) AS hides
  FROM me CROSS JOIN (SELECT to_regclass('troupe.access_tokens')::oid AS tokens) t LEFT JOIN pg_roles r ON r.rolname = me.name`

const Found = Schema.Struct({
  name: Schema.String,
  connects: Schema.String,
  made: Schema.Boolean,
  sees_all: Schema.Boolean,
  granted: Schema.Boolean,
  enters: Schema.Boolean,
  unread: Schema.Array(Schema.String),
  shown: Schema.Array(Schema.String),
  hides: Schema.Boolean
})
const readFound = rowReader(Found, "roles of the database")
type Found = typeof Found.Type

const find = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [found] = yield* readFound(sql, found_statement)
  if (found === undefined) return yield* Effect.die(new Error("no role is connected"))
  return found
})

const isReady = ({ enters, granted, hides, made, unread }: Found): boolean =>
  made && granted && enters && hides && unread.length === 0

/** Creates and grants what is missing. A process of another database may create the role at the same moment. */
const complete = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  yield* sql.unsafe("SELECT pg_advisory_xact_lock(hashtextextended('troupe tenant role', 0))::text")
  const { enters, granted, hides, made, name, shown, unread } = yield* find(sql)
  if (!made) {
    yield* sql.unsafe(`DO $$ BEGIN CREATE ROLE ${name} NOLOGIN;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`)
  }
  if (!granted) {
    const again = yield* find(sql)
    if (!again.granted) yield* sql.unsafe(`GRANT ${name} TO SESSION_USER`)
  }
  if (!enters) yield* sql.unsafe(`GRANT USAGE ON SCHEMA troupe TO ${name}`)
  if (unread.length > 0) {
    const tables = unread.map((table) => `troupe.${table}`)
    yield* sql.unsafe(`GRANT SELECT ON ${tables.join(", ")} TO ${name}`)
  }
  if (!hides) {
    // The digests of tokens are for the engine, which looks a bearer up by them. No read of a tenant shows one.
    yield* sql.unsafe(`REVOKE ALL ON troupe.access_tokens FROM ${name}`)
    yield* sql.unsafe(`GRANT SELECT (${shown.join(", ")}) ON troupe.access_tokens TO ${name}`)
  }
})

const warning = ({ connects, name }: Found): string =>
  `PostgreSQL does not let ${connects} make or use the role ${name}: what principals read is kept to their workspace by the ` +
  `statements alone, not by row security as well. Let an administrator run: CREATE ROLE ${name} NOLOGIN; ` +
  `GRANT ${name} TO ${connects}; and start again`

/** A warning where row security does not separate the principals' reads; undefined where it does. Changes nothing. */
export const findWarning = (
  sql: SqlClient.SqlClient
): Effect.Effect<string | undefined, SqlError.SqlError | StoreError> =>
  Effect.map(find(sql), (found) => (isReady(found) ? undefined : warning(found)))

/** How often the preparation is retried: the server may be changing the same objects for another process. */
const attempts_max = 5

const isForbidden = (error: SqlError.SqlError | StoreError): boolean =>
  error._tag === "SqlError" && error.reason._tag === "AuthorizationError"

const prepare = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const found = yield* find(sql)
  if (found.sees_all) {
    return yield* new Migrator.MigrationError({
      kind: "BadState",
      message:
        `the role ${found.name} is a superuser's, bypasses row security, or is a member of the role that owns the tables: ` +
        `what is read for one workspace could be that of another. Nothing was changed. ` +
        `Take these rights from it: ALTER ROLE ${found.name} NOSUPERUSER NOBYPASSRLS`
    })
  }
  if (isReady(found)) return found.name
  return yield* inTransaction(sql)(complete(sql)).pipe(
    Effect.retry({ times: attempts_max, while: (error) => !isForbidden(error) }),
    Effect.as(found.name),
    Effect.catchIf(isForbidden, () => Effect.as(Effect.logWarning(warning(found)), undefined))
  )
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const role = yield* prepare(sql).pipe(Effect.catchTag("StoreError", Effect.die))
  const { readAs } = yield* ServerSession
  const within = (tenant: Tenant) => {
    const enter = sql.unsafe(
      "SELECT set_config('role', $1::text, true), set_config('troupe.tenant', $2::text, true)",
      [role, tenant]
    )
    return <A, E, R>(read: Effect.Effect<A, E, R>) =>
      inTransaction(sql)(Effect.andThen(enter, read))
  }
  return TenantReads.of({
    role,
    of: (tenant) => {
      if (role === undefined) return identity
      const reading = readAs?.({ role, tenant }) ?? within(tenant)
      return (read) =>
        Effect.withFiber((fiber) => (isInTransaction(sql, fiber) ? read : reading(read)))
    }
  })
})

/** Needs a database whose migrations have run. */
export const layer: Layer.Layer<
  TenantReads,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> = Layer.effect(TenantReads, make)
