/**
 * Stored tokens for the facade and the command line: making, listing and revoking them.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Effect, Layer, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Credentials } from "../../../services/Credentials.ts"
import { Limit, limit_default } from "../../../src/operation/Page.ts"
import * as Entries from "../../../src/entry/Entries.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import { TokenId } from "../../../src/value/Ids.ts"
import { TokenRequest } from "../../../src/permission/AccessToken.ts"
import type { AccessToken } from "../../../src/permission/AccessToken.ts"
import { inMilliseconds } from "../../../src/value/Times.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import * as TokenCredentials from "../../runtime/directory/TokenCredentials.ts"

/** A token with its text, which is stored nowhere. */
export interface IssuedToken extends AccessToken {
  readonly token: string
}

const readRequest = inputReader(TokenRequest)
const readId = inputReader(TokenId)
const readPage = inputReader(
  Schema.Struct({ limit: Schema.optionalKey(Limit), after: Schema.optionalKey(TokenId) })
)

const crypto = Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)

type Issuer = Pick<Credentials["Service"], "create" | "list" | "revoke">

const withIssuer = <A, E>(use: (issuer: Issuer) => Effect.Effect<A, E>) =>
  TokenCredentials.issuer.pipe(Effect.flatMap(use), Effect.provide(crypto))

export const create = Effect.fnUntraced(function* (request: unknown, by: Principal) {
  const who = yield* Entries.entitled(by, "issueTokens")
  const wanted = yield* readRequest(inMilliseconds<unknown>(request), "token")
  const { text, token } = yield* withIssuer((issuer) => issuer.create(wanted, who))
  return { ...token, token: Redacted.value(text) } satisfies IssuedToken
})

export const list = Effect.fnUntraced(function* (page: unknown, by: Principal) {
  const who = yield* Entries.entitled(by, "issueTokens")
  const { limit = limit_default, after } = yield* readPage(page, "page")
  return yield* withIssuer((issuer) => issuer.list({ limit, after }, who))
})

export const revoke = Effect.fnUntraced(function* (id: unknown, by: Principal) {
  const who = yield* Entries.entitled(by, "issueTokens")
  const known = yield* readId(id, "id")
  return yield* withIssuer((issuer) => issuer.revoke(known, who))
})
