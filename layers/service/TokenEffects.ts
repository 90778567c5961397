/** Access tokens of a tenant. Their texts are stored nowhere, only the SHA-256 of each. */
import { Clock, Effect, Redacted } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { AccessTokens } from "../../services/AccessTokens.ts"
import { Unauthorized } from "../../services/Credentials.ts"
import type { AccessToken } from "../../src/permission/AccessToken.ts"
import { isInForce, tokenOf, unchecked, withChecksum } from "../../src/permission/AccessToken.ts"
import { CallerToken } from "../../src/operation/Operation.ts"
import { limit_default } from "../../src/operation/Page.ts"
import * as TokenOperations from "../../src/operation/TokenOperations.ts"
import { NotEntitled } from "../../src/principal/NotEntitled.ts"
import { DeclaredRoles, unknownRole } from "../../src/principal/Rights.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import { TokenId } from "../../src/value/Ids.ts"
import { boundedPage } from "../../src/value/Pages.ts"
import { pageOf, serve } from "./Served.ts"

const secret_bytes = 32

const sha256Of = (text: string) =>
  Digest.Digest.use((digest) =>
    Effect.map(digest.digest(Digest.sha256, new TextEncoder().encode(text)), (bytes) =>
      Hex.encode(bytes)
    )
  )

/** The bound of what is made with it. A token of the service's own options is not stored, and bounds nothing. */
const boundOf = Effect.fnUntraced(function* (using: NonNullable<typeof CallerToken.Service>) {
  if (!Redacted.isRedacted(using) && "session_ends_at" in using) {
    return { expires_at: using.session_ends_at, isSession: true }
  }
  const sha256 = Redacted.isRedacted(using) ? yield* sha256Of(Redacted.value(using)) : using.sha256
  const stored = yield* AccessTokens.use((tokens) => tokens.find(sha256))
  return stored && { ...stored, isSession: false }
})

export const list = serve(
  TokenOperations.list,
  Effect.fnUntraced(function* ({ after, limit = limit_default }, { tenant }) {
    const tokens = yield* AccessTokens
    const page = yield* boundedPage(limit, (last: AccessToken | undefined, limit) =>
      tokens.list({ tenant, limit, after: last?.id ?? after })
    )
    return pageOf(page, "id")
  })
)

export const create = serve(
  TokenOperations.create,
  Effect.fn("Tokens.create")(function* (request, by) {
    const unknown = unknownRole(request.roles, yield* DeclaredRoles)
    if (unknown !== undefined) {
      const [at, message] = unknown
      return yield* new InvalidInput({ field: `payload.roles.${at}`, reason: message })
    }
    // Whoever may make tokens by a declared role makes nobody an admin.
    if (request.roles.includes("admin") && !by.roles.includes("admin")) {
      return yield* new NotEntitled({ principal: by.id, needs: ["admin"] })
    }
    const tokens = yield* AccessTokens
    const random = yield* SecureRandom.SecureRandom
    const using = yield* CallerToken
    const own = using === undefined ? undefined : yield* boundOf(using)
    // What an identity provider has said of somebody goes no further in a token.
    const beyond = by.roles.includes("admin")
      ? undefined
      : request.roles.find((role) => !by.roles.includes(role))
    if (own?.isSession === true && beyond !== undefined) {
      return yield* new NotEntitled({ principal: by.id, needs: [beyond] })
    }
    const created_at = yield* Clock.currentTimeMillis
    // It may have been revoked since the request began.
    if (own !== undefined && !isInForce(own, created_at)) return yield* new Unauthorized()
    const token = tokenOf(request, by, {
      id: TokenId.make(yield* random.uuidV4()),
      now: created_at,
      expires_max: own?.expires_at
    })
    const bare = unchecked(Hex.encode(yield* random.randomBytes(secret_bytes)))
    const text = withChecksum(bare, yield* sha256Of(bare))
    yield* tokens.add(token, yield* sha256Of(text))
    return { token: text, ...token }
  })
)

export const revoke = serve(
  TokenOperations.revoke,
  Effect.fn("Tokens.revoke")(function* ({ id }, by) {
    const at = yield* Clock.currentTimeMillis
    return yield* AccessTokens.use((tokens) => tokens.revoke(by.tenant, id, by.id, at))
  })
)
