/**
 * Resolves tokens to principals. Owns the tokens, of which it stores only digests.
 */
import { Context, Schema } from "effect"
import type { Effect, Redacted } from "effect"
import type { Principal } from "../src/Principal.ts"

/** There is no token, or it is unknown. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message(): string {
    return "the token is not one that this service knows"
  }
}

export class Credentials extends Context.Service<
  Credentials,
  {
    /** The principal of a token. Compares in constant time. */
    verify(token: Redacted.Redacted): Effect.Effect<Principal, Unauthorized>
  }
>()("troupe/services/Credentials") {}
