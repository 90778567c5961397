/**
 * Resolves tokens to principals.
 */
import { Context, Schema } from "effect"
import type { Effect, Redacted } from "effect"
import type { Principal } from "../src/principal/Principal.ts"
import type { StoreError } from "./StoreError.ts"

/** The token is missing or unknown, has expired or was revoked. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message(): string {
    return "the token is not one that this service knows"
  }
}

/** Who calls with a token of the HTTP API. */
export class Credentials extends Context.Service<
  Credentials,
  {
    /** The principal of a token. The token is compared in constant time, or found by its digest. */
    verify(token: Redacted.Redacted): Effect.Effect<Principal, StoreError | Unauthorized>
    /** The principal of the token with this SHA-256, 64 hex digits in lower case: of one that was verified before. */
    verifyDigest(sha256: string): Effect.Effect<Principal, StoreError | Unauthorized>
  }
>()("troupe/services/Credentials") {}
