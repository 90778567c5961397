/**
 * Credentials from a list that is given at start: SHA-256 digests of tokens, with the principal of each. The tokens
 * themselves are never stored.
 */
import { Effect, Layer, Redacted } from "effect"
import { Digest, Mac } from "effect/crypto"
import { Hex } from "effect/encoding"
import { Credentials, Unauthorized } from "../../services/Credentials.ts"
import type { Principal } from "../../src/Principal.ts"

export interface Credential {
  /** SHA-256 of the token's UTF-8, as 64 hex digits. */
  readonly sha256: string
  readonly principal: Principal
}

/** Longer tokens are refused without hashing them, so that a long header costs no CPU time. */
const token_length_max = 1_000

const make = Effect.fnUntraced(function* (credentials: ReadonlyArray<Credential>) {
  const digest = yield* Digest.Digest
  const known = yield* Effect.forEach(credentials, ({ principal, sha256 }) =>
    Effect.map(Effect.orDie(Effect.fromResult(Hex.decode(sha256))), (bytes) => ({
      bytes,
      principal
    }))
  )
  return Credentials.of({
    verify: Effect.fnUntraced(function* (token) {
      const text = Redacted.value(token)
      if (text.length === 0 || text.length > token_length_max) return yield* new Unauthorized()
      const bytes = yield* digest.digest(Digest.sha256, new TextEncoder().encode(text))
      // Compares with every credential, each in constant time, so that the response time reveals nothing about the list.
      let found: Principal | undefined
      for (const each of known) {
        if (Mac.timingSafeEqual(each.bytes, bytes)) found = each.principal
      }
      return found ?? (yield* new Unauthorized())
    })
  })
})

export const layer = (
  credentials: ReadonlyArray<Credential>
): Layer.Layer<Credentials, never, Digest.Digest> => Layer.effect(Credentials, make(credentials))
