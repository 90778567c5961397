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

  /** The bytes of a stored token have a checksum. A text with a wrong one costs no read. */
  const isStored = Effect.fnUntraced(function* (text: string) {
    const bare = withoutChecksum(text)
    return bare !== undefined && withChecksum(bare, Hex.encode(yield* hash(bare))) === text
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

  /** Compares with every credential, each in constant time, so that the response time reveals nothing about the list. */
  const listed = (bytes: Uint8Array): Principal | undefined => {
    let found: Principal | undefined
    for (const each of known) {
      if (Mac.timingSafeEqual(each.bytes, bytes)) found = each.principal
    }
    return found
  }

  const stored = Effect.fnUntraced(function* (sha256: string) {
    const found = yield* tokens.find(sha256)
    const at = yield* Clock.currentTimeMillis
    if (found === undefined || !isInForce(found, at)) return yield* new Unauthorized()
    yield* noteUse(found, at)
    return principalIn(declared, { ...found, id: found.principal })
  })

  const verify = Effect.fnUntraced(function* (token: Redacted.Redacted) {
    const text = Redacted.value(token)
    if (text.length === 0 || text.length > token_length_max) return yield* new Unauthorized()
    const bytes = yield* hash(text)
    const principal = listed(bytes)
    if (principal !== undefined) return principal
    return (yield* isStored(text)) ? yield* stored(Hex.encode(bytes)) : yield* new Unauthorized()
  })

  const verifyDigest = Effect.fnUntraced(function* (sha256: string) {
    const bytes = yield* Effect.mapError(
      Effect.fromResult(Hex.decode(sha256)),
      () => new Unauthorized()
    )
    return listed(bytes) ?? (yield* stored(sha256))
  })

  return Credentials.of({ verify, verifyDigest })
})

export const layer = (
  credentials: ReadonlyArray<Credential>
): Layer.Layer<Credentials, never, AccessTokens | Digest.Digest> =>
  Layer.effect(Credentials, make(credentials))
