/**
 * Messages in, conversations and their events out.
 */
import { createHash } from "node:crypto"
import { Deferred, Effect, Metric } from "effect"
import type { Layer } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { Message } from "../../services/AgentRuntime.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { Accepted, StoreError } from "../../services/TaskStore.ts"
import type { Authentication, RequestBody, Validation } from "../../src/api/Boundary.ts"
import { CurrentPrincipal } from "../../src/api/Boundary.ts"
import { limit_default } from "../../src/api/Page.ts"
import { makeProblem } from "../../src/api/Problem.ts"
import { TroupeApi } from "../../src/api/TroupeApi.ts"
import type { ConversationMessage } from "../../src/conversation/Conversation.ts"
import type { Tenant } from "../../src/Ids.ts"
import { ConversationId } from "../../src/Ids.ts"
import { conversationFor, customer_agent, isCustomer, notForCustomers } from "./Access.ts"
import { boundedPage } from "./BoundedPage.ts"
import * as EventStream from "./EventStream.ts"
import { HttpSettings } from "./HttpSettings.ts"
import { problemOf } from "./Problems.ts"
import { Readiness } from "./Readiness.ts"

const acceptedResponse = ({ task }: Accepted) =>
  HttpApiSchema.withHeaders({
    body: {
      task_id: task.id,
      run_id: task.id,
      conversation_id: task.conversation,
      ordinal: task.ordinal,
      status: task.status
    },
    headers: { location: `/v1/runs/${task.id}` }
  })

/**
 * The conversation that a message with a key begins. Derived from the key, because a message that is sent again must
 * name the conversation that it began the first time, and its sender cannot know it.
 */
const conversationOf = (tenant: Tenant, key: string): ConversationId =>
  ConversationId.make(
    `k-${createHash("sha256").update(`${tenant}\n${key}`).digest("hex").slice(0, 40)}`
  )

const badCursor = makeProblem(
  400,
  "bad-cursor",
  "The cursor is malformed",
  "Last-Event-ID and after are the id of an event, `{run_ordinal}.{seq}`, or 0 for the start."
)

const open = Metric.gauge("troupe_event_streams_open")

/** Takes one of the places for event streams until the request's scope closes; false if none is free. */
const makePlaces = (streams_max: number) => {
  let taken = 0
  const change = (by: 1 | -1) => {
    taken += by
    return Metric.update(open, taken)
  }
  return Effect.acquireRelease(
    Effect.suspend(() =>
      taken >= streams_max ? Effect.succeed(false) : Effect.as(change(1), true)
    ),
    (mine) => (mine ? change(-1) : Effect.void)
  )
}

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "conversations">,
  never,
  AgentRuntime | ConversationStore | Readiness | Authentication | Validation | RequestBody
> = HttpApiBuilder.group(
  TroupeApi,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const runtime = yield* AgentRuntime
    const store = yield* ConversationStore
    const { stopping } = yield* Readiness
    const { heartbeat_ms, streams_max } = yield* HttpSettings
    const place = makePlaces(streams_max)

    const post = Effect.fnUntraced(function* (message: Message) {
      const by = yield* CurrentPrincipal
      if (isCustomer(by) && message.agent !== customer_agent) {
        return yield* Effect.fail(notForCustomers)
      }
      return acceptedResponse(
        yield* Effect.mapError(runtime.send(message, by), (error) => problemOf(error))
      )
    })

    return handlers.handleAll({
      send: Effect.fnUntraced(function* ({ headers, payload }) {
        const { tenant } = yield* CurrentPrincipal
        const key = headers["idempotency-key"]
        return yield* post({
          ...payload,
          conversation: key === undefined ? undefined : conversationOf(tenant, key),
          idempotency_key: key
        })
      }),
      sendTo: ({ headers, params, payload }) =>
        post({
          ...payload,
          conversation: params.id,
          idempotency_key: headers["idempotency-key"]
        }),
      list: Effect.fnUntraced(function* ({ query }) {
        const by = yield* CurrentPrincipal
        const limit = query.limit ?? limit_default
        const found = yield* Effect.mapError(store.list(by.tenant, limit, query.before), problemOf)
        const items = isCustomer(by)
          ? found.filter(({ address }) => address.agent === customer_agent)
          : found
        return found.length < limit
          ? { items }
          : { items, next_before: found[found.length - 1]!.created_at }
      }),
      get: Effect.fnUntraced(function* ({ params, query }) {
        const by = yield* CurrentPrincipal
        const conversation = yield* conversationFor(store, by, params.id)
        const { items: messages, more } = yield* boundedPage<ConversationMessage, StoreError>(
          query.limit ?? limit_default,
          (last, limit) =>
            store.messages(by.tenant, params.id, last?.seq ?? query.after ?? -1, limit)
        ).pipe(Effect.mapError(problemOf))
        return more
          ? { conversation, messages, next_after: messages.at(-1)!.seq }
          : { conversation, messages }
      }),
      events: Effect.fnUntraced(function* ({ headers, params, query }) {
        const by = yield* CurrentPrincipal
        const cursor = EventStream.parseCursor(headers["last-event-id"] ?? query.after)
        if (cursor === undefined) return yield* Effect.fail(badCursor)
        yield* conversationFor(store, by, params.id)
        if (!(yield* place)) {
          return yield* Effect.fail(
            makeProblem(
              503,
              "too-many-streams",
              "Too many event streams",
              `At most ${streams_max} are open at the same time. Try again later.`
            )
          )
        }
        return HttpServerResponse.stream(
          EventStream.bytes(runtime.watch(params.id, cursor, by), {
            customer: isCustomer(by),
            heartbeat_ms,
            until: Deferred.await(stopping)
          }),
          {
            contentType: "text/event-stream",
            // A proxy that buffers would hold every event back.
            headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
          }
        )
      })
    })
  })
)
