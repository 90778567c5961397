/**
 * What workspaces have authorised in advance, in SQL. A use is one statement that checks and counts, so that it sees every
 * revocation that was acknowledged before it.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import { AuthorizationRecords } from "../../../services/AuthorizationRecords.ts"
import type { AuthorizationQuery } from "../../../services/AuthorizationRecords.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { AuthorizationId, Tenant } from "../../../src/value/Ids.ts"
import {
  AuthorizationNotFound,
  authorizations_max,
  TooManyAuthorizations,
  WorkspaceAgentAuthorization
} from "../../../src/permission/Authorization.ts"
import { readablePage, readableRows, rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction, orStoreError, toStoreError } from "../engine/SqlFailure.ts"
import { TenantReads } from "../engine/TenantReads.ts"

type Sql = SqlClient.SqlClient

const page_max = 500

/** The row as a JSON text without its null members, so that it decodes to the record that was added. */
const row = (a: string): string =>
  `json_strip_nulls(json_build_object('id', ${a}.authorization_id::text, 'tenant', ${a}.tenant, 'agent', ${a}.agent,
     'action', ${a}.action, 'tool_key', ${a}.tool_key, 'tool_digest', ${a}.tool_digest, 'granted_by', ${a}.granted_by,
     'granted_at', ${a}.granted_at, 'expires_at', ${a}.expires_at, 'uses_max', ${a}.uses_max, 'uses', ${a}.uses,
     'last_used_at', ${a}.last_used_at, 'revoked_by', ${a}.revoked_by, 'revoked_at', ${a}.revoked_at))::text AS record`

/** The name of a person, stored as JSON text. */
const Name = Schema.fromJsonString(Schema.String)

const Row = Schema.Struct({
  record: Schema.fromJsonString(
    WorkspaceAgentAuthorization.mapFields((fields) => ({
      ...fields,
      granted_by: Name,
      revoked_by: Schema.optionalKey(Name)
    }))
  )
})
const decodeRecords = rowDecoder(Row, "authorisations")
const decodeReadable = readableRows(Row, "authorisations")

const recordsOf = (rows: ReadonlyArray<unknown>) =>
  Effect.map(decodeRecords(rows), (read) => read.map(({ record }) => record))

const inForce = (at: string): string =>
  `a.revoked_at IS NULL AND a.expires_at > ${at}::int8 AND (a.uses_max IS NULL OR a.uses < a.uses_max)`

/**
 * Serialises those who grant in one workspace, so that its limit holds and, of two grants for the same agent and action, the
 * second replaces the first.
 */
const take = `SELECT pg_advisory_xact_lock(hashtextextended('troupe authorisations ' || $1::text, 0))::text`

const replace = `UPDATE troupe.authorizations SET revoked_by = $4::text, revoked_at = $5::int8
  WHERE tenant = $1::text AND agent = $2::text AND action = $3::text AND revoked_at IS NULL`

const insert = `INSERT INTO troupe.authorizations
    (authorization_id, tenant, agent, action, tool_key, tool_digest, granted_by, granted_at, expires_at, uses_max, uses)
  SELECT $1::text::uuid, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::int8, $9::int8, $10::int4, $11::int4
  WHERE (SELECT count(*) FROM troupe.authorizations a WHERE a.tenant = $2::text AND ${inForce("$8")}) < ${authorizations_max}
  RETURNING 1 AS kept`

const add = (sql: Sql): AuthorizationRecords["Service"]["add"] =>
  Effect.fn("AuthorizationRecords.add")((given: WorkspaceAgentAuthorization) => {
    const { action, agent, expires_at, granted_at, tenant } = given
    const by = JSON.stringify(given.granted_by)
    return Effect.gen(function* () {
      yield* sql.unsafe(take, [tenant])
      yield* sql.unsafe(replace, [tenant, agent, action, by, granted_at])
      const kept = yield* sql.unsafe(insert, [
        given.id,
        tenant,
        agent,
        action,
        given.tool_key,
        given.tool_digest,
        by,
        granted_at,
        expires_at,
        given.uses_max ?? null,
        given.uses
      ])
      if (kept.length === 0) return yield* new TooManyAuthorizations({ authorizations_max })
    }).pipe(inTransaction(sql))
  }, Effect.mapError(orStoreError))

const get = (sql: Sql, tenant: Tenant, id: AuthorizationId) =>
  sql
    .unsafe(
      `SELECT ${row("a")} FROM troupe.authorizations a
       WHERE a.tenant = $1::text AND a.authorization_id = $2::text::uuid`,
      [tenant, id]
    )
    .pipe(
      Effect.flatMap(recordsOf),
      Effect.mapError(orStoreError),
      Effect.flatMap(([found]) =>
        found === undefined ? Effect.fail(new AuthorizationNotFound({ id })) : Effect.succeed(found)
      )
    )

const list = (
  sql: Sql,
  reads: TenantReads["Service"],
  { after, agents, in_force_at, limit, tenant, tool_keys }: AuthorizationQuery
) =>
  readablePage<WorkspaceAgentAuthorization, string, StoreError, never>({
    limit: Math.min(limit, page_max),
    after,
    rowsOf: (behind, most) =>
      Effect.mapError(
        reads.of(tenant)(
          sql.unsafe<SqlConnection.Row>(
            `SELECT a.authorization_id, ${row("a")} FROM troupe.authorizations a
       WHERE a.tenant = $1::text
         AND ($2::text IS NULL OR a.position <
           (SELECT b.position FROM troupe.authorizations b WHERE b.tenant = $1::text AND b.authorization_id = $2::text::uuid))
         AND ($3::text IS NULL OR a.agent IN (SELECT json_array_elements_text($3::text::json)))
         AND ($4::int8 IS NULL OR (${inForce("$4")}))
         AND ($5::text IS NULL OR a.tool_key IN (SELECT json_array_elements_text($5::json)))
       ORDER BY a.position DESC LIMIT $6::int4`,
            [
              tenant,
              behind ?? null,
              agents === undefined ? null : JSON.stringify(agents),
              in_force_at ?? null,
              tool_keys === undefined ? null : JSON.stringify(tool_keys),
              most
            ]
          )
        ),
        orStoreError
      ),
    read: (rows) => Effect.map(decodeReadable(rows), (all) => all.map(({ record }) => record)),
    keyOf: (found) => found["authorization_id"]
  })

const revoke = (sql: Sql): AuthorizationRecords["Service"]["revoke"] =>
  Effect.fn("AuthorizationRecords.revoke")(function* (tenant, id, by, at) {
    const rows = yield* Effect.mapError(
      sql.unsafe(
        `UPDATE troupe.authorizations a SET revoked_by = $3::text, revoked_at = $4::int8
         WHERE a.tenant = $1::text AND a.authorization_id = $2::text::uuid AND a.revoked_at IS NULL
         RETURNING ${row("a")}`,
        [tenant, id, JSON.stringify(by), at]
      ),
      toStoreError
    )
    const [revoked] = yield* recordsOf(rows)
    return revoked ?? (yield* get(sql, tenant, id))
  })

const use = (sql: Sql): AuthorizationRecords["Service"]["use"] =>
  Effect.fnUntraced(function* ({ agent, tenant, tool_digest, tool_key }, now) {
    const rows = yield* sql.unsafe(
      `UPDATE troupe.authorizations a SET uses = a.uses + 1, last_used_at = $5::int8
         WHERE a.tenant = $1::text AND a.agent = $2::text AND a.tool_key = $3::text AND a.tool_digest = $4::text
           AND ${inForce("$5")}
         RETURNING ${row("a")}`,
      [tenant, agent, tool_key, tool_digest, now]
    )
    const [used] = yield* recordsOf(rows)
    return used
  }, Effect.mapError(orStoreError))

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  return AuthorizationRecords.of({
    add: add(sql),
    get: (tenant, id) => Effect.mapError(reads.of(tenant)(get(sql, tenant, id)), orStoreError),
    list: (query) => list(sql, reads, query),
    revoke: revoke(sql),
    use: use(sql)
  })
})

export const layer: Layer.Layer<AuthorizationRecords, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(AuthorizationRecords, make)
