/**
 * Credentials of two kinds: a list that is given at start, of SHA-256 digests of tokens with the principal of each; and the
 * stored tokens that admins made. The tokens themselves are never stored.
 */
import { Clock, Effect, Layer, Redacted } from "effect"
import { Digest, Mac } from "effect/crypto"
import { Hex } from "effect/encoding"
import { AccessTokens } from "../../../services/AccessTokens.ts"
import { Credentials, Unauthorized } from "../../../services/Credentials.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { DeclaredRoles, principalIn } from "../../../src/principal/Rights.ts"
import {
  isInForce,
  isUseNews,
  withChecksum,
  withoutChecksum
} from "../../../src/permission/AccessToken.ts"
import type { AccessToken } from "../../../src/permission/AccessToken.ts"

export interface Credential {
  /** SHA-256 of the token's UTF-8, as 64 hex digits. */
  readonly sha256: string
  readonly principal: Principal
}

/** Longer tokens are refused without hashing them, so that a long header costs no CPU time. */
const token_length_max = 1_000

const make = Effect.fnUntraced(function* (credentials: ReadonlyArray<Credential>) {
  const digest = yield* Digest.Digest
  const tokens = yield* AccessTokens
  const declared = yield* DeclaredRoles
  const known = yield* Effect.forEach(credentials, ({ principal, sha256 }) =>
    Effect.map(Effect.orDie(Effect.fromResult(Hex.decode(sha256))), (bytes) => ({
      bytes,
      principal
    }))
  )
  const hash = (text: string) => digest.digest(Digest.sha256, new TextEncoder().encode(text))

  /** The stored token of a text, in force or not. A text with a wrong checksum costs no read. */
  const stored = Effect.fnUntraced(function* (text: string, bytes: Uint8Array) {
    const bare = withoutChecksum(text)
    if (bare === undefined || withChecksum(bare, Hex.encode(yield* hash(bare))) !== text)
      return undefined
    return yield* tokens.find(Hex.encode(bytes))
  })

  /** A use that cannot be written keeps nobody out. */
  const noteUse = (token: AccessToken, at: number) =>
    isUseNews(token, at)
      ? Effect.catch(tokens.used(token.id, at), () =>
          Effect.logWarning("the last use of a token was not noted").pipe(
            Effect.annotateLogs({ token: token.id })
          )
        )
      : Effect.void

  const verify = Effect.fnUntraced(function* (token: Redacted.Redacted) {
    const text = Redacted.value(token)
    if (text.length === 0 || text.length > token_length_max) return yield* new Unauthorized()
    const bytes = yield* hash(text)
    // Compares with every credential, each in constant time, so that the response time reveals nothing about the list.
    let listed: Principal | undefined
    for (const each of known) {
      if (Mac.timingSafeEqual(each.bytes, bytes)) listed = each.principal
    }
    if (listed !== undefined) return listed
    const found = yield* stored(text, bytes)
    const at = yield* Clock.currentTimeMillis
    if (found === undefined || !isInForce(found, at)) return yield* new Unauthorized()
    yield* noteUse(found, at)
    return principalIn(declared, { ...found, id: found.principal })
  })

  return Credentials.of({ verify })
})

export const layer = (
  credentials: ReadonlyArray<Credential>
): Layer.Layer<Credentials, never, AccessTokens | Digest.Digest> =>
  Layer.effect(Credentials, make(credentials))
