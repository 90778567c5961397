/**
 * The access tokens that admins created, in one process.
 */
import { Effect, Layer } from "effect"
import { AccessTokens } from "../../services/AccessTokens.ts"
import type { TokenId } from "../../src/value/Ids.ts"
import type { AccessToken } from "../../src/permission/AccessToken.ts"
import {
  ended_max,
  isInForce,
  token_texts,
  TokenNotFound,
  tokens_max,
  TooManyTokens
} from "../../src/permission/AccessToken.ts"
import { offerRows } from "./EphemeralStore.ts"

const page_max = 500

const make = Effect.gen(function* () {
  /** In the order of creation. */
  const tokens = new Map<TokenId, AccessToken>()
  const ids = new Map<string, TokenId>()
  const forget = (ended: ReadonlyArray<AccessToken>) => {
    const gone = new Set(ended.map(({ id }) => id))
    for (const id of gone) tokens.delete(id)
    for (const [sha256, id] of ids) if (gone.has(id)) ids.delete(sha256)
  }
  yield* offerRows("access_tokens", (tenant) =>
    [...tokens.values()]
      .filter((each) => each.tenant === tenant)
      .flatMap((token) => {
        const { id, principal } = token
        const remove = () => forget([token])
        // The token is not written again if it was the subject's and has been removed.
        const replace = (marked: unknown) =>
          void (tokens.has(id) && tokens.set(id, marked as AccessToken))
        return [
          { value: principal, whose: principal, remove },
          { value: token, texts: token_texts, remove, replace }
        ]
      })
  )
  return AccessTokens.of({
    add: (token, sha256) =>
      Effect.suspend(() => {
        const others = [...tokens.values()].filter(({ tenant }) => tenant === token.tenant)
        const ended = others.filter((each) => !isInForce(each, token.created_at))
        if (others.length - ended.length >= tokens_max) {
          return Effect.fail(new TooManyTokens({ tokens_max }))
        }
        if (ended.length > ended_max) forget(ended.slice(0, -ended_max))
        tokens.set(token.id, token)
        ids.set(sha256, token.id)
        return Effect.void
      }),
    find: (sha256) =>
      Effect.sync(() => {
        const id = ids.get(sha256)
        return id === undefined ? undefined : tokens.get(id)
      }),
    list: ({ after, limit, tenant }) =>
      Effect.sync(() => {
        const newest = [...tokens.values()].filter((each) => each.tenant === tenant).reverse()
        const at = after === undefined ? -1 : newest.findIndex(({ id }) => id === after)
        if (after !== undefined && at < 0) return []
        return newest.slice(at + 1, at + 1 + Math.min(limit, page_max))
      }),
    revoke: (tenant, id, by, at) =>
      Effect.suspend(() => {
        const found = tokens.get(id)
        if (found?.tenant !== tenant) return Effect.fail(new TokenNotFound({ id }))
        if (found.revoked_at !== undefined) return Effect.succeed(found)
        const revoked = { ...found, revoked_by: by, revoked_at: at }
        tokens.set(id, revoked)
        return Effect.succeed(revoked)
      }),
    used: (id, at) =>
      Effect.sync(() => {
        const found = tokens.get(id)
        if (found === undefined || (found.last_used_at ?? 0) >= at) return
        tokens.set(id, { ...found, last_used_at: at })
      })
  })
})

/** Each build of the layer starts without tokens. */
export const layer: Layer.Layer<AccessTokens> = Layer.effect(AccessTokens, make)
