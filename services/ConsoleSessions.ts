/**
 * Who is signed in at the console: sessions, and links that begin one. Only SHA-256 digests are stored, of the session's id and of
 * the token that it stands for, so that a copy of the database signs nobody in. Whom an identity provider signed in has no token.
 */
import { Context, Schema } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** A principal by the word of an identity provider. */
export const Provided = Schema.Struct({
  /** The provider. */
  issuer: Schema.String,
  /** The principal's id. */
  id: Schema.String,
  /** Its roles when it signed in. */
  roles: Schema.Array(Schema.String),
  /** The provider's ID token, which only the session's own id opens, in base64. Absent = there is none to sign out with. */
  id_token: Schema.optionalKey(Schema.String)
})
export type Provided = typeof Provided.Type

/** A session, or a link that begins one. */
export interface ConsoleSession {
  /** SHA-256 of the token with which somebody signed in, 64 hex digits: when it ends, so does the session. */
  readonly token_sha256: string
  /** The tenant of the principal. */
  readonly tenant: Tenant
  /** Whom an identity provider signed in, as it was then; `token_sha256` is no token's. Absent = the token says who it is. */
  readonly provided?: Provided
  /** When it ends by itself, in ms since 1970. */
  readonly ends_at: number
}

/** Sessions of the console, each under the SHA-256 of its id, 64 hex digits. */
export class ConsoleSessions extends Context.Service<
  ConsoleSessions,
  {
    /**
     * Begins a session, or makes a `link`. Of a token about 100 are kept, and of a tenant 10,000: the ended and then the oldest go.
     */
    add(
      sha256: string,
      session: ConsoleSession,
      kind: "session" | "link"
    ): Effect.Effect<void, StoreError>
    /** The session or link, unless it has ended; undefined = there is none. */
    find(
      sha256: string,
      kind: "session" | "link"
    ): Effect.Effect<ConsoleSession | undefined, StoreError>
    /** Takes a link away, which is thereby used: of several callers one gets it. Undefined = there is none, or it has ended. */
    use(sha256: string): Effect.Effect<ConsoleSession | undefined, StoreError>
    /** Ends a session. */
    end(sha256: string): Effect.Effect<void, StoreError>
  }
>()("troupe/services/ConsoleSessions") {}
