/**
 * The access tokens that admins created, in SQL. Each look-up reads the row, so that a revocation takes effect in every process
 * at once.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import { AccessTokens } from "../../../services/AccessTokens.ts"
import {
  AccessToken,
  ended_max,
  TokenNotFound,
  tokens_max,
  TooManyTokens
} from "../../../src/permission/AccessToken.ts"
import { readablePage, readableRows, rowDecoder } from "../engine/DecodedRows.ts"
import { TenantReads } from "../engine/TenantReads.ts"
import { inTransaction, orStoreError } from "../engine/SqlFailure.ts"

const page_max = 500

const { last_used_at: _used, revoked_at: _at, revoked_by: _by, ...kept } = AccessToken.fields
const Kept = Schema.Struct(kept)
const write = Schema.encodeSync(Schema.fromJsonString(Kept))

const columns = `a.token_id, a.token, a.last_used_at::float8 AS last_used_at, a.revoked_by, a.revoked_at::float8 AS revoked_at`

const TokenRow = Schema.Struct({
  token: Schema.fromJsonString(Kept),
  last_used_at: Schema.NullOr(Schema.Int),
  revoked_by: Schema.NullOr(Schema.fromJsonString(Schema.String)),
  revoked_at: Schema.NullOr(Schema.Int)
})
const decodeRows = rowDecoder(TokenRow, "tokens")
const decodeReadable = readableRows(TokenRow, "tokens")

const tokenIn = ({
  last_used_at,
  revoked_at,
  revoked_by,
  token
}: typeof TokenRow.Type): AccessToken => ({
  ...token,
  ...(last_used_at === null ? undefined : { last_used_at }),
  ...(revoked_by === null ? undefined : { revoked_by }),
  ...(revoked_at === null ? undefined : { revoked_at })
})

const tokensOf = (rows: ReadonlyArray<unknown>) =>
  Effect.map(decodeRows(rows), (read) => read.map(tokenIn))

/** Serialises those who create tokens in one tenant, so that its limit holds. */
const take = `SELECT pg_advisory_xact_lock(hashtextextended('troupe tokens ' || $1::text, 0))::text`

const forget = `DELETE FROM troupe.access_tokens WHERE position IN (
    SELECT a.position FROM troupe.access_tokens a
    WHERE a.tenant = $1::text AND (a.revoked_at IS NOT NULL OR a.expires_at <= $2::int8)
    ORDER BY a.position DESC OFFSET ${ended_max})`

const insert = `INSERT INTO troupe.access_tokens (token_id, sha256, tenant, token, expires_at)
  SELECT $1::text::uuid, $2::text, $3::text, $4::text, $5::int8
  WHERE (SELECT count(*) FROM troupe.access_tokens a
    WHERE a.tenant = $3::text AND a.revoked_at IS NULL AND a.expires_at > $6::int8) < ${tokens_max}
  RETURNING 1 AS kept`

const list = `SELECT ${columns} FROM troupe.access_tokens a
  WHERE a.tenant = $1::text AND ($2::text IS NULL OR a.position <
    (SELECT b.position FROM troupe.access_tokens b WHERE b.tenant = $1::text AND b.token_id = $2::text::uuid))
  ORDER BY a.position DESC LIMIT $3::int4`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  return AccessTokens.of({
    add: Effect.fn("AccessTokens.add")((token, sha256) => {
      const { created_at, expires_at, id, tenant } = token
      return Effect.gen(function* () {
        yield* sql.unsafe(take, [tenant])
        yield* sql.unsafe(forget, [tenant, created_at])
        const given = [id, sha256, tenant, write(token), expires_at, created_at]
        const rows = yield* sql.unsafe(insert, given)
        if (rows.length === 0) return yield* new TooManyTokens({ tokens_max })
      }).pipe(inTransaction(sql))
    }, Effect.mapError(orStoreError)),
    find: Effect.fnUntraced(function* (sha256) {
      const rows = yield* sql.unsafe(
        `SELECT ${columns} FROM troupe.access_tokens a WHERE a.sha256 = $1::text`,
        [sha256]
      )
      return (yield* tokensOf(rows))[0]
    }, Effect.mapError(orStoreError)),
    list: ({ after, limit, tenant }) =>
      readablePage({
        limit: Math.min(limit, page_max),
        after,
        rowsOf: (behind, most) =>
          sql
            .unsafe<SqlConnection.Row>(list, [tenant, behind ?? null, most])
            .pipe(reads.of(tenant), Effect.mapError(orStoreError)),
        read: (rows) => Effect.map(decodeReadable(rows), (read) => read.map(tokenIn)),
        keyOf: (row) => row["token_id"]
      }),
    revoke: Effect.fn("AccessTokens.revoke")(function* (tenant, id, by, at) {
      const rows = yield* sql.unsafe(
        `UPDATE troupe.access_tokens a SET revoked_by = coalesce(a.revoked_by, $3::text),
           revoked_at = coalesce(a.revoked_at, $4::int8)
         WHERE a.tenant = $1::text AND a.token_id = $2::text::uuid RETURNING ${columns}`,
        [tenant, id, JSON.stringify(by), at]
      )
      return (yield* tokensOf(rows))[0] ?? (yield* new TokenNotFound({ id }))
    }, Effect.mapError(orStoreError)),
    used: (id, at) =>
      sql
        .unsafe(
          `UPDATE troupe.access_tokens SET last_used_at = $2::int8
           WHERE token_id = $1::text::uuid AND (last_used_at IS NULL OR last_used_at < $2::int8)`,
          [id, at]
        )
        .pipe(Effect.asVoid, Effect.mapError(orStoreError))
  })
})

export const layer: Layer.Layer<AccessTokens, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(AccessTokens, make)
