/** Tokens by the digest of their text: found in every state, listed and revoked in their tenant alone, and bounded. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { AccessTokens } from "../../services/AccessTokens.ts"
import { Tenant, TokenId } from "../../src/value/Ids.ts"
import type { AccessToken } from "../../src/permission/AccessToken.ts"
import { ended_max, tokens_max } from "../../src/permission/AccessToken.ts"
import { isFull } from "../Long.ts"

let count = 0
const fresh = () => Tenant.make(`tokens-${++count}`)
const digest = () => randomBytes(32).toString("hex")
const tokenIn = (tenant: Tenant, more?: Partial<AccessToken>): AccessToken => ({
  id: TokenId.make(randomUUID()),
  name: "für “CI”",
  tenant,
  principal: "carl",
  roles: ["customer"],
  created_by: "adam",
  created_at: 1_000,
  expires_at: 2_000,
  ...more
})

export const accessTokensTests = (it: Vitest.MethodsNonLive<AccessTokens>): void => {
  it.effect("a token is found by its digest, and is listed and revoked in its tenant alone", () =>
    Effect.gen(function* () {
      const tokens = yield* AccessTokens
      const [tenant, other] = [fresh(), fresh()]
      const [one, two, theirs] = [tokenIn(tenant), tokenIn(tenant), tokenIn(other)]
      const sha256 = digest()
      yield* tokens.add(one, sha256)
      yield* tokens.add(two, digest())
      yield* tokens.add(theirs, digest())
      assert.deepStrictEqual(yield* tokens.find(sha256), one)
      assert.isUndefined(yield* tokens.find(digest()))
      assert.deepStrictEqual(yield* tokens.list({ tenant, limit: 500 }), [two, one])
      assert.deepStrictEqual(yield* tokens.list({ tenant, limit: 1, after: two.id }), [one])
      assert.deepStrictEqual(yield* tokens.list({ tenant, limit: 1, after: theirs.id }), [])

      const error = yield* Effect.flip(tokens.revoke(other, one.id, "eve", 1_400))
      assert.strictEqual(error._tag, "TokenNotFound")
      yield* tokens.used(one.id, 1_300)
      yield* tokens.used(one.id, 1_200)
      const revoked = { ...one, last_used_at: 1_300, revoked_by: "ada\0", revoked_at: 1_400 }
      assert.deepStrictEqual(yield* tokens.revoke(tenant, one.id, "ada\0", 1_400), revoked)
      assert.deepStrictEqual(yield* tokens.revoke(tenant, one.id, "eve", 1_500), revoked)
      assert.deepStrictEqual(yield* tokens.find(sha256), revoked)
      assert.deepStrictEqual(yield* tokens.list({ tenant: other, limit: 9 }), [theirs])
    })
  )

  if (isFull) {
    it.effect(
      "a tenant has a bound of tokens in force, and its oldest ended ones are forgotten",
      () =>
        Effect.gen(function* () {
          const tokens = yield* AccessTokens
          const tenant = fresh()
          const first = digest()
          yield* tokens.add(tokenIn(tenant), first)
          for (let n = 1; n < tokens_max; n++) yield* tokens.add(tokenIn(tenant), digest())
          const refused = yield* Effect.flip(tokens.add(tokenIn(tenant), digest()))
          assert.deepInclude(refused, { _tag: "TooManyTokens", tokens_max })
          yield* tokens.add(tokenIn(fresh()), digest())

          // All have expired by then.
          const now = { created_at: 2_000, expires_at: 3_000 }
          const last = tokenIn(tenant, now)
          yield* tokens.add(last, digest())
          assert.isDefined(yield* tokens.find(first))
          yield* tokens.revoke(tenant, last.id, "adam", 2_100)
          yield* tokens.add(tokenIn(tenant, now), digest())
          assert.strictEqual(ended_max, tokens_max)
          assert.isUndefined(yield* tokens.find(first))
        })
    )
  }
}
