/** What the event streams of a service share: their places, the bound of what is unread, and when they end. */
import { Context, Deferred, Effect, Layer } from "effect"
import type { Redacted, Scope } from "effect"
import { HttpServerRequest } from "effect/http"
import { Credentials } from "../../../services/Credentials.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { Limits } from "../boundary/Limits.ts"
import { Readiness } from "../boundary/Readiness.ts"
import { makeClosingServers } from "./ClosingServers.ts"
import type { FeedOptions } from "./EventStream.ts"
import { inPooledUtf8 } from "./EventStream.ts"
import type { Unread } from "./UnreadBytes.ts"
import { makeUnread } from "./UnreadBytes.ts"

/** How long a stream goes on, and how its bytes are made and counted. */
export type OpenedStream = Omit<FeedOptions, "customer">

type Opening = Effect.Effect<
  OpenedStream,
  Problem<429> | Problem<503>,
  HttpServerRequest.HttpServerRequest | Scope.Scope
>

export class StreamHost extends Context.Service<
  StreamHost,
  {
    /**
     * Reserves a place until the scope closes, for the owner of this token. Fails with 429 at the bound of the principal or tenant, and
     * with 503 at the bound of the process.
     */
    open(by: Principal, token: Redacted.Redacted): Opening
    /** The same for somebody who has no token: at each heartbeat the stream ends if `goesOn` is false. */
    openWhile(by: Principal, goesOn: Effect.Effect<boolean>): Opening
  }
>()("troupe/http/StreamHost") {}

/**
 * The account of the text that this request's reader has not taken. When it exceeds the bound, `cut` completes and the connection
 * is closed.
 */
const openAccount = Effect.fnUntraced(function* (
  unread: Unread,
  { source }: HttpServerRequest.HttpServerRequest
) {
  const cut = yield* Deferred.make<void>()
  const account = yield* Effect.acquireRelease(
    Effect.sync(() =>
      unread.open(() => {
        Deferred.doneUnsafe(cut, Effect.void)
        // A client that does not read does not see the end of a stream either, so its connection is closed. A Web request has
        // none.
        if ("destroy" in source && typeof source.destroy === "function") source.destroy()
      })
    ),
    (opened) => Effect.sync(() => opened.close())
  )
  return { account, cut: Deferred.await(cut) }
})

/**
 * Whether a token that was valid is still valid: it may have been revoked, or have expired. While the store does not answer, it
 * counts as valid.
 */
const isStillValid = (
  credentials: Credentials["Service"],
  token: Redacted.Redacted
): Effect.Effect<boolean> =>
  Effect.match(credentials.verify(token), {
    onSuccess: () => true,
    onFailure: ({ _tag }) => _tag !== "Unauthorized"
  })

export const layer: Layer.Layer<StreamHost, never, Credentials | Limits | Readiness> = Layer.effect(
  StreamHost,
  Effect.gen(function* () {
    const credentials = yield* Credentials
    const limits = yield* Limits
    const { stopping } = yield* Readiness
    const { heartbeat_ms, unread_units_max } = yield* HttpSettings
    const unread = makeUnread(unread_units_max)
    const { closing } = makeClosingServers()
    const openWhile = Effect.fnUntraced(function* (by: Principal, goesOn: Effect.Effect<boolean>) {
      yield* limits.stream(by)
      const request = yield* HttpServerRequest.HttpServerRequest
      const { account, cut } = yield* openAccount(unread, request)
      return {
        heartbeat_ms,
        goesOn,
        // The reader of a Web response may transfer the memory that it gets.
        encode: request.source instanceof Request ? undefined : inPooledUtf8,
        account,
        until: Effect.raceAllFirst([Deferred.await(stopping), cut, closing(request.source)])
      }
    })
    return StreamHost.of({
      open: (by, token) => openWhile(by, isStillValid(credentials, token)),
      openWhile
    })
  })
)
