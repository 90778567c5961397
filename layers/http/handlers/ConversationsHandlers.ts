/**
 * Handlers of messages, conversations and their events.
 */
import { Deferred, Effect, Result } from "effect"
import type { Layer } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import { ConversationStore } from "../../../services/ConversationStore.ts"
import { Credentials } from "../../../services/Credentials.ts"
import type { Accepted } from "../../../services/TaskStore.ts"
import { TaskStore } from "../../../services/TaskStore.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal, CurrentToken } from "../../../src/operation/Boundary.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import { nestingOf } from "../../../src/run/Nesting.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { isLimitedToOwn } from "../../../src/principal/Rights.ts"
import { conversationFor, isStillValid, readsAsCustomer, refusalOf } from "../boundary/Access.ts"
import { linkBase } from "../boundary/MountPath.ts"
import * as Conversations from "../../service/ConversationEffects.ts"
import { handlerOf } from "./DerivedHandlers.ts"
import * as EventStream from "../stream/EventStream.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { Limits } from "../boundary/Limits.ts"
import { problemOf } from "../boundary/Problems.ts"
import { Readiness } from "../boundary/Readiness.ts"
import type { Unread } from "../stream/UnreadFrames.ts"
import { makeUnread } from "../stream/UnreadFrames.ts"

/** The `Location` is that of the run or, for a customer, who may not read runs, that of the conversation. */
const acceptedResponse = ({ task }: Accepted, by: Principal, base: string) =>
  HttpApiSchema.withHeaders({
    body: {
      task_id: task.id,
      run_id: task.id,
      conversation_id: task.conversation,
      ordinal: task.ordinal,
      status: task.status
    },
    headers: {
      location: readsAsCustomer(by)
        ? `${base}/v1/conversations/${task.conversation}`
        : `${base}/v1/runs/${task.id}`
    }
  })

const badCursor = makeProblem(
  400,
  "bad-cursor",
  "The cursor is malformed",
  "Last-Event-ID and after are the id of an event, `{run_ordinal}.{seq}`, or 0 for the start."
)

interface MessageHeaders {
  readonly baggage?: string
  readonly "idempotency-key"?: string
}

const headersOf = ({ baggage, "idempotency-key": idempotency_key }: MessageHeaders) => ({
  baggage,
  idempotency_key
})

const aheadOf = (newest: number) =>
  makeProblem(
    400,
    "cursor-ahead",
    "The cursor is ahead of its conversation",
    `The newest run of this conversation is ${newest}. Begin again without a cursor.`
  )

/** The ports, settings and bounds that the handlers need. */
interface Surface {
  readonly runtime: AgentRuntime["Service"]
  readonly store: ConversationStore["Service"]
  readonly limits: Limits["Service"]
  readonly customer_agents: ReadonlyArray<AgentName>
  readonly base_path: string
}

const malformed_title = "The baggage is malformed"

const send = Effect.fnUntraced(function* (
  { base_path, customer_agents, limits, runtime }: Surface,
  { baggage, ...given }: Message & { readonly baggage: string | undefined },
  by: Principal
) {
  const nested = nestingOf(baggage)
  if (Result.isFailure(nested)) {
    return yield* Effect.fail(makeProblem(400, "bad-baggage", malformed_title, nested.failure))
  }
  const message = { ...given, nested: nested.success }
  const refusal = refusalOf(by, "send", message.agent, customer_agents)
  if (refusal !== undefined) return yield* Effect.fail(refusal)
  yield* limits.message(by)
  const accepted = yield* Effect.mapError(runtime.send(message, by), (error) => problemOf(error))
  const request = yield* HttpServerRequest.HttpServerRequest
  return acceptedResponse(accepted, by, linkBase(request, base_path))
})

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

const streamOptions = {
  contentType: "text/event-stream",
  // A proxy that buffers would delay every event.
  headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
}

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "conversations">,
  never,
  | AgentRuntime
  | ConversationStore
  | Credentials
  | Limits
  | Readiness
  | TaskStore
  | Authentication
  | Validation
  | RequestBody
> = HttpApiBuilder.group(
  TroupeApi,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const runtime = yield* AgentRuntime
    const store = yield* ConversationStore
    const tasks = yield* TaskStore
    const limits = yield* Limits
    const credentials = yield* Credentials
    const { stopping } = yield* Readiness
    const settings = yield* HttpSettings
    const { base_path, customer_agents, heartbeat_ms, unread_units_max } = settings
    const surface: Surface = { runtime, store, limits, customer_agents, base_path }
    const unread = makeUnread(unread_units_max)

    const withStore = Effect.provideService(ConversationStore, store)
    return handlers.handleAll({
      list: (request) => withStore(handlerOf(Conversations.list, settings)(request)),
      get: (request) => withStore(handlerOf(Conversations.get, settings)(request)),
      send: Effect.fnUntraced(function* ({ headers, payload }) {
        const by = yield* CurrentPrincipal
        return yield* send(surface, { ...payload, ...headersOf(headers) }, by)
      }),
      sendTo: Effect.fnUntraced(function* ({ headers, params, payload }) {
        const by = yield* CurrentPrincipal
        // A customer may name only conversations that it began: an id of its own choice might belong to somebody else.
        if (isLimitedToOwn(by, "send")) {
          yield* conversationFor(store.get, by, "send", params.id, customer_agents)
        }
        const agent =
          payload.agent ?? (yield* Effect.mapError(runtime.currentAgent(params.id, by), problemOf))
        return yield* send(
          surface,
          { ...payload, ...headersOf(headers), agent, conversation: params.id },
          by
        )
      }),
      events: Effect.fnUntraced(function* ({ headers, params, query }) {
        const by = yield* CurrentPrincipal
        const cursor = EventStream.parseCursor(headers["last-event-id"] ?? query.after)
        if (cursor === undefined) return yield* Effect.fail(badCursor)
        yield* conversationFor(store.read, by, "follow", params.id, customer_agents)
        if (cursor.ordinal > 0) {
          const newest = yield* Effect.mapError(
            tasks.newestOrdinal(by.tenant, params.id),
            problemOf
          )
          if (cursor.ordinal > newest) return yield* Effect.fail(aheadOf(newest))
        }
        yield* limits.stream(by)
        const request = yield* HttpServerRequest.HttpServerRequest
        const { account, cut } = yield* openAccount(unread, request)
        const stream = EventStream.bytes(runtime.openFeed(params.id, cursor, by), {
          customer: readsAsCustomer(by),
          heartbeat_ms,
          goesOn: isStillValid(credentials, yield* CurrentToken),
          // The reader of a Web response may transfer the memory that it gets.
          encode: request.source instanceof Request ? undefined : EventStream.inPooledUtf8,
          account,
          until: Effect.raceFirst(Deferred.await(stopping), cut)
        })
        return HttpServerResponse.stream(stream, streamOptions)
      })
    })
  })
)
