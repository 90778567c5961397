/** Pages for people that a composition adds beside the API, and what they are given of the server around them. */
import { Context } from "effect"
import type { Effect, Scope, Stream } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { Problem } from "../../../src/operation/Problem.ts"

/** Server-sent events: as a text, or in UTF-8 as parts that others may read too. Nothing comes between the parts. */
export type EventText = string | ReadonlyArray<Uint8Array>

/** What a page is given. */
export interface Surface {
  /** Counts a request of the principal, and fails beyond the rate limit. */
  readonly admit: (
    principal: Principal
  ) => Effect.Effect<void, unknown, HttpServerRequest.HttpServerRequest>
  /** Counts a try to sign in, by the address from which it comes, and fails where there were too many. */
  readonly signIn: Effect.Effect<void, unknown, HttpServerRequest.HttpServerRequest>
  /** Counts a message of the principal to an agent, and fails beyond the rate limit. */
  readonly message: (
    principal: Principal
  ) => Effect.Effect<void, unknown, HttpServerRequest.HttpServerRequest>
  /** Answers the principal while the number of other pages that are read is bounded. Fails with 503 if no share is free in time. */
  readonly share: <A, E, R>(
    principal: Principal,
    answer: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | Problem<503>, R>
  /**
   * Answers with server-sent events, of which each text is one or several, and with heartbeats between them. It ends with the
   * service, and at a heartbeat at which `goesOn` is false. Fails with 429 and 503 where too many event streams are open.
   */
  readonly stream: (
    principal: Principal,
    texts: Stream.Stream<EventText>,
    goesOn: Effect.Effect<boolean>
  ) => Effect.Effect<
    HttpServerResponse.HttpServerResponse,
    unknown,
    HttpServerRequest.HttpServerRequest | Scope.Scope
  >
  /** The problem of an error; undefined = nobody declared it. */
  readonly problemOf: (error: unknown) => Problem | undefined
  /** Logs the message of a store, if the problem is one of a store. */
  readonly log: (problem: object) => Effect.Effect<void>
  /** The path under which the service is mounted, as the client sees it; empty for the root. */
  readonly baseOf: (request: HttpServerRequest.HttpServerRequest) => string
  /** The largest body of a form, in bytes. */
  readonly body_bytes_max: number
}

/** A route of a page. What its answer needs comes with it, so that no type has to name it. */
export interface AddedPage {
  readonly method: "GET" | "POST"
  readonly path: `/${string}`
  readonly answer: (
    surface: Surface
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, unknown>
}

/** The pages beside the API; none by default. */
export const AddedPages = Context.Reference<ReadonlyArray<AddedPage>>("troupe/http/AddedPages", {
  defaultValue: () => []
})
