/**
 * Handlers of messages, conversations and their events.
 */
import { Context, Effect, Result } from "effect"
import type { Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { CustomerAgents } from "../../../services/AgentDirectory.ts"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal, CurrentToken } from "../../../src/operation/Boundary.ts"
import { makeProblem } from "../../../src/operation/Problem.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { nestingOf } from "../../../src/run/Nesting.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import { linkBase } from "../boundary/MountPath.ts"
import * as Conversations from "../../service/ConversationEffects.ts"
import { importHistory } from "../../service/HistoryEffects.ts"
import { isCustomer } from "../../service/CustomerRules.ts"
import { newestFollowed, recipient } from "../../service/MessageEffects.ts"
import type { ServicesOf } from "../../service/Served.ts"
import { handlerOf } from "./DerivedHandlers.ts"
import * as EventStream from "../stream/EventStream.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import { Limits } from "../boundary/Limits.ts"
import { problemOf } from "../boundary/Problems.ts"
import { StreamHost } from "../stream/StreamHost.ts"

/** The `Location` is that of the run or, for a customer, who may not read runs, that of the conversation. */
const acceptedResponse = (
  { queued_behind, task }: Effect.Success<ReturnType<AgentRuntime["Service"]["send"]>>,
  by: Principal,
  base: string
) =>
  HttpApiSchema.withHeaders({
    body: {
      task_id: task.id,
      run_id: task.id,
      conversation_id: task.conversation,
      ordinal: task.ordinal,
      status: task.status,
      ...(queued_behind && { queued_behind })
    },
    headers: {
      location: isCustomer(by)
        ? `${base}/v1/conversations/${task.conversation}`
        : `${base}/v1/runs/${task.id}`
    }
  })

const badCursor = makeProblem(
  400,
  "bad-cursor",
  "The cursor is malformed",
  "Last-Event-ID and after are the id of an event, such as `3.17`, or 0 for the start."
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

/** What the effects need, and the bounds of messages. */
interface Surface {
  readonly services: Context.Context<Services>
  readonly limits: Limits["Service"]
  readonly base_path: string
}

type Services =
  | AgentRuntime
  | ServicesOf<typeof Conversations.remove>
  | ServicesOf<typeof importHistory>
  | Effect.Services<ReturnType<typeof newestFollowed> | ReturnType<typeof recipient>>

const send = Effect.fnUntraced(function* (
  { base_path, limits, services }: Surface,
  {
    baggage,
    ...given
  }: Omit<Message, "agent"> & {
    readonly baggage: string | undefined
  } & Parameters<typeof recipient>[0],
  by: Principal
) {
  const agent = yield* recipient(given, by).pipe(
    Effect.mapError((error) => problemOf(error)),
    Effect.provideContext(services)
  )
  const nested = nestingOf(baggage)
  if (Result.isFailure(nested)) {
    return yield* Effect.fail(
      makeProblem(400, "bad-baggage", "The baggage is malformed", nested.failure)
    )
  }
  yield* limits.message(by)
  const message: Message = { ...given, agent, nested: nested.success }
  const accepted = yield* Effect.mapError(
    Context.get(services, AgentRuntime).send(message, by),
    (error) => problemOf(error)
  )
  const request = yield* HttpServerRequest.HttpServerRequest
  return acceptedResponse(accepted, by, linkBase(request, base_path))
})

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "conversations">,
  never,
  Services | Limits | StreamHost | Authentication | Validation | RequestBody
> = HttpApiBuilder.group(
  TroupeApi,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const limits = yield* Limits
    const streams = yield* StreamHost
    const settings = yield* HttpSettings
    const { base_path, customer_agents } = settings
    const services = Context.add(
      yield* Effect.context<Services>(),
      CustomerAgents,
      customer_agents
    ) as Context.Context<Services>
    const runtime = Context.get(services, AgentRuntime)
    const surface: Surface = { services, limits, base_path }

    const withServices = Effect.provideContext(services)
    return handlers.handleAll({
      list: (request) => withServices(handlerOf(Conversations.list, settings)(request)),
      get: (request) => withServices(handlerOf(Conversations.get, settings)(request)),
      remove: (request) => withServices(handlerOf(Conversations.remove, settings)(request)),
      importHistory: (request) => withServices(handlerOf(importHistory, settings)(request)),
      change: (request) => withServices(handlerOf(Conversations.change, settings)(request)),
      send: Effect.fnUntraced(function* ({ headers, payload }) {
        const by = yield* CurrentPrincipal
        return yield* send(surface, { ...payload, ...headersOf(headers) }, by)
      }),
      sendTo: Effect.fnUntraced(function* ({ headers, params, payload }) {
        const by = yield* CurrentPrincipal
        return yield* send(
          surface,
          { ...payload, ...headersOf(headers), conversation: params.id },
          by
        )
      }),
      events: Effect.fnUntraced(function* ({ headers, params, query }) {
        const by = yield* CurrentPrincipal
        const cursor = EventStream.parseCursor(headers["last-event-id"] ?? query.after)
        if (cursor === undefined) return yield* Effect.fail(badCursor)
        const newest = yield* newestFollowed(params.id, cursor.ordinal, by).pipe(
          Effect.mapError((error) => problemOf(error)),
          withServices
        )
        if (cursor.ordinal > newest) return yield* Effect.fail(aheadOf(newest))
        const opened = yield* streams.open(by, yield* CurrentToken)
        const stream = EventStream.bytes(runtime.openFeed(params.id, cursor, by), {
          customer: isCustomer(by),
          ...opened
        })
        return EventStream.responseOf(stream, yield* HttpServerRequest.HttpServerRequest)
      })
    })
  })
)
