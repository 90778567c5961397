/**
 * Tokens that admins gave, by the SHA-256 of their text. Stores the records; who may ask for them is decided elsewhere.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant, TokenId } from "../src/Ids.ts"
import type { AccessToken, TokenNotFound, TooManyTokens } from "../src/permission/AccessToken.ts"
import type { StoreError } from "./StoreError.ts"

export class AccessTokens extends Context.Service<
  AccessTokens,
  {
    /** Keeps a token under its digest, 64 hex digits. */
    add(token: AccessToken, sha256: string): Effect.Effect<void, StoreError | TooManyTokens>
    /** Also one that has expired or was revoked. A revocation that was acknowledged is seen by each later call, in any process. */
    find(sha256: string): Effect.Effect<AccessToken | undefined, StoreError>
    /** Newest first, behind `after`; at most `limit` (up to 500). */
    list(query: {
      readonly tenant: Tenant
      readonly after?: TokenId | undefined
      readonly limit: number
    }): Effect.Effect<ReadonlyArray<AccessToken>, StoreError>
    /** One that was revoked before stays as it is. */
    revoke(
      tenant: Tenant,
      id: TokenId,
      by: string,
      at: number
    ): Effect.Effect<AccessToken, StoreError | TokenNotFound>
    /** Notes a use, unless a later one is noted. */
    used(id: TokenId, at: number): Effect.Effect<void, StoreError>
  }
>()("troupe/services/AccessTokens") {}
