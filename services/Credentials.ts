/**
 * Resolves tokens to principals, and makes new ones. Owns the tokens, of which it stores only digests.
 */
import { Context, Schema } from "effect"
import type { Effect, Redacted } from "effect"
import type { NotEntitled } from "../src/principal/NotEntitled.ts"
import type { TokenId } from "../src/value/Ids.ts"
import type { Principal } from "../src/principal/Principal.ts"
import type {
  AccessToken,
  TokenNotFound,
  TokenRequest,
  TooManyTokens
} from "../src/permission/AccessToken.ts"
import type { StoreError } from "./StoreError.ts"

/** The token is missing or unknown, has expired or was revoked. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message(): string {
    return "the token is not one that this service knows"
  }
}

export class Credentials extends Context.Service<
  Credentials,
  {
    /** The principal of a token. The token is compared in constant time, or found by its digest. */
    verify(token: Redacted.Redacted): Effect.Effect<Principal, StoreError | Unauthorized>
    /**
     * Creates a token for the tenant of `by`, who has to be an admin; its text is stored nowhere. If `by` used a stored token for
     * this request (`using`), the new token expires no later than that one.
     */
    create(
      request: TokenRequest,
      by: Principal,
      using?: Redacted.Redacted
    ): Effect.Effect<
      { readonly text: Redacted.Redacted; readonly token: AccessToken },
      NotEntitled | StoreError | TooManyTokens | Unauthorized
    >
    /** Tokens of the tenant of `by`, who has to be an admin, newest first; at most `limit` (up to 500). */
    list(
      page: { readonly after?: TokenId | undefined; readonly limit: number },
      by: Principal
    ): Effect.Effect<ReadonlyArray<AccessToken>, NotEntitled | StoreError>
    /** Revokes a token: when it returns, no process accepts the token any more. */
    revoke(
      id: TokenId,
      by: Principal
    ): Effect.Effect<AccessToken, NotEntitled | StoreError | TokenNotFound>
  }
>()("troupe/services/Credentials") {}
