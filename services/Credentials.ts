/**
 * Resolves tokens to principals, and makes new ones. Owns the tokens, of which it stores only digests.
 */
import { Context, Schema } from "effect"
import type { Effect, Redacted } from "effect"
import type { NotEntitled } from "../src/approval/Approval.ts"
import type { TokenId } from "../src/Ids.ts"
import type { Principal } from "../src/Principal.ts"
import type {
  AccessToken,
  TokenNotFound,
  TokenRequest,
  TooManyTokens
} from "../src/permission/AccessToken.ts"
import type { StoreError } from "./StoreError.ts"

/** There is no token, or it is unknown, has expired or was revoked. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message(): string {
    return "the token is not one that this service knows"
  }
}

export class Credentials extends Context.Service<
  Credentials,
  {
    /** The principal of a token. Compares in constant time, or looks its digest up. */
    verify(token: Redacted.Redacted): Effect.Effect<Principal, StoreError | Unauthorized>
    /**
     * A new token of the tenant of `by`, an admin; its text is nowhere else. Where `by` came with a stored token
     * (`using`), the new one expires no later than that.
     */
    create(
      request: TokenRequest,
      by: Principal,
      using?: Redacted.Redacted
    ): Effect.Effect<
      { readonly text: Redacted.Redacted; readonly token: AccessToken },
      NotEntitled | StoreError | TooManyTokens | Unauthorized
    >
    /** Those of the tenant of `by`, an admin, newest first; at most `limit` (up to 500). */
    list(
      page: { readonly after?: TokenId | undefined; readonly limit: number },
      by: Principal
    ): Effect.Effect<ReadonlyArray<AccessToken>, NotEntitled | StoreError>
    /** From its return on no process takes the token. */
    revoke(
      id: TokenId,
      by: Principal
    ): Effect.Effect<AccessToken, NotEntitled | StoreError | TokenNotFound>
  }
>()("troupe/services/Credentials") {}
