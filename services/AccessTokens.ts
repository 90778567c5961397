/**
 * Stores the access tokens that admins created, under the SHA-256 of their text. Does not decide who may create, list or revoke
 * them.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant, TokenId } from "../src/value/Ids.ts"
import type { AccessToken, TokenNotFound, TooManyTokens } from "../src/permission/AccessToken.ts"
import type { StoreError } from "./StoreError.ts"

/** Stored tokens of the HTTP API: makes, lists, finds and revokes them. */
export class AccessTokens extends Context.Service<
  AccessTokens,
  {
    /** Stores a token under its digest, 64 hex digits. */
    add(token: AccessToken, sha256: string): Effect.Effect<void, StoreError | TooManyTokens>
    /**
     * Finds a token by its digest, even if it has expired or was revoked; undefined = unknown. Once a revocation is acknowledged,
     * every later call in any process sees it.
     */
    find(sha256: string): Effect.Effect<AccessToken | undefined, StoreError>
    /** Tokens of the tenant, newest first, starting after the token `after`; at most `limit` (up to 500). */
    list(query: {
      readonly tenant: Tenant
      readonly after?: TokenId | undefined
      readonly limit: number
    }): Effect.Effect<ReadonlyArray<AccessToken>, StoreError>
    /** Revokes a token at the time `at` (ms since 1970), and returns it. A token that is already revoked stays as it is. */
    revoke(
      tenant: Tenant,
      id: TokenId,
      by: string,
      at: number
    ): Effect.Effect<AccessToken, StoreError | TokenNotFound>
    /** Records that the token was used at `at` (ms since 1970), unless a later use is recorded. */
    used(id: TokenId, at: number): Effect.Effect<void, StoreError>
  }
>()("troupe/services/AccessTokens") {}
