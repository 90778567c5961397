/**
 * Tokens from a list that is given at start: their SHA-256 digests and whom they belong to. The tokens themselves are
 * never kept.
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

/** Longer ones are refused unhashed, so that nobody buys CPU time with a long header. */
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
      // All of them are compared, each in constant time: the answer's delay tells nothing of the list.
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
