/**
 * Who a token belongs to. Owns tokens, of which it keeps only digests; knows nothing of requests.
 */
import { Context, Schema } from "effect"
import type { Effect, Redacted } from "effect"
import type { Principal } from "../src/Principal.ts"

/** No token, or one that nobody was given. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {}) {
  override get message(): string {
    return "the token is not one that this service knows"
  }
}

export class Credentials extends Context.Service<
  Credentials,
  {
    /** The principal of a token. Takes as long for a token that is almost right as for any other. */
    verify(token: Redacted.Redacted): Effect.Effect<Principal, Unauthorized>
  }
>()("troupe/services/Credentials") {}
