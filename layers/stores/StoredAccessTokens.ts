/**
 * The access tokens that admins created. Each look-up reads the row, so that a revocation takes effect in every process at once.
 */
import { Effect, Layer, Schema } from "effect"
import { AccessTokens } from "../../services/AccessTokens.ts"
import { Rows } from "../../services/Rows.ts"
import { Tenant, TokenId } from "../../src/value/Ids.ts"
import {
  AccessToken,
  ended_max,
  token_texts,
  TokenNotFound,
  tokens_max,
  TooManyTokens
} from "../../src/permission/AccessToken.ts"
import type { Stored } from "./TypedRows.ts"
import {
  anyTenant,
  hidden,
  int8,
  json,
  optional,
  place,
  said,
  table,
  tableRows,
  text,
  uuid
} from "./TypedRows.ts"

const page_max = 500

const { last_used_at: _used, revoked_at: _at, revoked_by: _by, ...kept } = AccessToken.fields

export const tokens = table({
  name: "access_tokens",
  what: "tokens",
  key: ["token_id"],
  columns: {
    position: place,
    token_id: uuid(TokenId),
    sha256: hidden(text(Schema.String)),
    tenant: text(Tenant),
    token: json(Schema.Struct(kept)),
    expires_at: int8,
    last_used_at: optional(int8),
    revoked_by: optional(said),
    revoked_at: optional(int8)
  },
  // In a token of another principal, only the token's name and the names of who created and revoked it may be the subject's.
  erased: { owner: ["token", "principal"], marked: { token: token_texts, revoked_by: "text" } }
})

const tokenIn = ({
  expires_at: _expires,
  position: _place,
  tenant: _tenant,
  token,
  token_id: _id,
  ...uses
}: Stored<typeof tokens.columns>): AccessToken => ({ ...token, ...uses })

const make = Effect.gen(function* () {
  const driver = yield* Rows
  const rows = tableRows(driver, tokens)
  return AccessTokens.of({
    add: Effect.fn("AccessTokens.add")(function* (token, sha256) {
      const { created_at, expires_at, id, tenant } = token
      yield* driver.alone(`troupe tokens ${tenant}`)
      yield* rows.remove({
        where: { tenant },
        or: [{ revoked_at: ["not", null] }, { expires_at: ["<", created_at + 1] }],
        order: ["position"],
        descends: true,
        skip: ended_max
      })
      const where = { tenant, revoked_at: null, expires_at: [">", created_at] as const }
      if ((yield* rows.count({ where })) >= tokens_max)
        return yield* new TooManyTokens({ tokens_max })
      yield* rows.add([{ token_id: id, sha256, tenant, token, expires_at }])
    }, driver.transaction),
    find: (sha256) =>
      Effect.map(rows.one({ tenant: anyTenant, sha256 }), (found) =>
        found === undefined ? found : tokenIn(found)
      ),
    list: ({ after, limit, tenant }) =>
      Effect.map(
        rows.list({
          where: { tenant },
          order: ["position"],
          descends: true,
          after: after === undefined ? undefined : { tenant, token_id: after },
          limit: Math.min(limit, page_max)
        }),
        (found) => found.map(tokenIn)
      ),
    revoke: Effect.fn("AccessTokens.revoke")(function* (tenant, id, by, at) {
      const where = { tenant, token_id: id, revoked_at: null }
      yield* rows.set({ where }, { revoked_by: by, revoked_at: at })
      const found = yield* rows.one({ tenant, token_id: id })
      return found === undefined ? yield* new TokenNotFound({ id }) : tokenIn(found)
    }, driver.transaction),
    used: (token_id, last_used_at) =>
      Effect.asVoid(
        rows.set(
          {
            where: { tenant: anyTenant, token_id },
            or: [{ last_used_at: null }, { last_used_at: ["<", last_used_at] }]
          },
          { last_used_at }
        )
      )
  })
})

export const layer: Layer.Layer<AccessTokens, never, Rows> = Layer.effect(AccessTokens, make)
