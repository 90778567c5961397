/**
 * Delivers what happens to the webhooks of its tenant. An event becomes one delivery for each webhook that wants it, which commits
 * together with its message in the outbox; each message is sent, signed with the webhook's secrets, until it is delivered, refused
 * or given up. What is sent names runs, questions and agents, and repeats none of what anybody said.
 */
import { Clock, Context, Effect, Layer, Option, Schedule, Schema } from "effect"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import type { DeliveryHandler, RoomHandlers } from "../../services/DeliveryHandlers.ts"
import { DeliveryFailed, DeliveryRefused } from "../../services/DeliveryHandlers.ts"
import type { StoreError } from "../../services/StoreError.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { DueDelivery, WebhookHint } from "../../services/Webhooks.ts"
import {
  webhook_event_topic,
  webhook_send_topic,
  WebhookReach,
  Webhooks
} from "../../services/Webhooks.ts"
import { decisionNames } from "../../src/approval/Approval.ts"
import { attempts_max_default } from "../../src/delivery/OutboxMessage.ts"
import type { CloudEvent } from "../../src/delivery/IncomingEvent.ts"
import { cloudEventOf } from "../../src/delivery/IncomingEvent.ts"
import type { WebhookAnswer, WebhookAttempt, WebhookData } from "../../src/delivery/Webhook.ts"
import {
  answer_ms_default,
  verdictOf,
  WebhookData as Data,
  WebhookDeliveryId,
  WebhookNews
} from "../../src/delivery/Webhook.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { makeSender } from "./WebhookRequest.ts"
import { signingKey } from "./WebhookSecret.ts"

/** The times of webhooks. */
export const SubscriptionConfig = Context.Reference<{
  /** How long one answer may take, in ms. */
  readonly timeout_ms: number
  /** The wait before the second attempt, in ms. Each further wait is four times as long, up to a quarter of an hour. */
  readonly retry_ms: number
  /** How many attempts a delivery has. The relay's bound may not be less. */
  readonly attempts_max: number
  /** How long deliveries are kept, in ms. */
  readonly retention_ms: number
  /** The `source` of the events. */
  readonly source: string
}>("troupe/layers/channel/SubscriptionConfig", {
  defaultValue: () => ({
    timeout_ms: answer_ms_default,
    retry_ms: 15_000,
    attempts_max: attempts_max_default,
    retention_ms: 30 * 86_400_000,
    source: "troupe"
  })
})

const retry_max_ms = 900_000
const sweep_max = 500

const { approval, reason, run, webhook } = Data.fields
const decodeHint = Schema.decodeUnknownOption(
  Schema.Struct({ type: WebhookNews.fields.type, approval, reason, run, webhook })
)
const decodeSending = Schema.decodeUnknownOption(Schema.Struct({ delivery: WebhookDeliveryId }))

const unreadable = new DeliveryRefused({ message: "the payload names nothing to be told" })

const retried = <A, R>(
  effect: Effect.Effect<A, DeliveryFailed | DeliveryRefused | StoreError, R>
): Effect.Effect<A, DeliveryFailed | DeliveryRefused, R> =>
  Effect.mapError(effect, (error) =>
    error._tag === "StoreError" ? new DeliveryFailed({ message: error.message }) : error
  )

/** What there is to say of a run or of a question; undefined = it is gone, or nobody is told of it. */
const dataOf = Effect.fnUntraced(function* (
  tenant: Tenant,
  id: RunId,
  { approval, type }: WebhookHint
): Effect.fn.Return<WebhookData | undefined, StoreError, ApprovalRecords | TaskStore> {
  const task = yield* TaskStore.use((tasks) => tasks.read(tenant, id))
  if (task === undefined) return undefined
  const { address, agent = address.agent, conversation } = task
  const about = { run: id, conversation, agent }
  if (approval === undefined) {
    return { ...about, status: type.slice("run.".length) as "complete" | "failed" | "cancelled" }
  }
  const found = yield* ApprovalRecords.use((records) => records.get(approval))
  // A call of the conversation's own client is no question for people.
  if (found?.tenant !== tenant || found.client !== undefined) return undefined
  const { decision, expires_at, payload, status } = found
  return {
    ...about,
    agent: payload.agent_name as typeof agent,
    approval,
    tool: payload.tool_name,
    ...(type === "approval.requested"
      ? { status: "pending", ...defined({ expires_at }) }
      : {
          status,
          ...(decision === undefined ? undefined : { decision: decisionNames[decision._tag] })
        })
  }
})

/** Makes the deliveries of an event. */
const telling = Effect.gen(function* () {
  const webhooks = yield* Webhooks
  const records = yield* Effect.context<ApprovalRecords | TaskStore>()
  const tell: DeliveryHandler = Effect.fnUntraced(function* ({ created_at: at, id, ...message }) {
    const hint = Option.getOrUndefined(decodeHint(message.payload))
    if (hint === undefined) return yield* unreadable
    const { reason, run, type, webhook } = hint
    const { tenant } = message
    const subject = run ?? webhook
    if (subject === undefined) return yield* unreadable
    const data =
      run === undefined
        ? defined({ webhook, reason })
        : yield* Effect.provideContext(dataOf(tenant, run, hint), records)
    // An erasure, which took it away, is no failure.
    if (data === undefined) return
    yield* webhooks.deliver({ tenant, event: id, at, news: { type, subject, data } })
  }, retried)
  return tell
})

const eventOf = (
  { created_at, event: id, news, position }: DueDelivery,
  source: string
): CloudEvent => ({
  ...cloudEventOf({ id, created_at, key: news.subject, replayed: false }, news, source),
  // Texts that sort as their numbers do, up to the greatest that a delivery has.
  sequence: String(position).padStart(16, "0")
})

const attemptOf = (at: number, ended_at: number, answer: WebhookAnswer): WebhookAttempt => ({
  at,
  ms: Math.max(0, ended_at - at),
  ...("missing" in answer
    ? { error: answer.missing }
    : {
        status: answer.status,
        ...(verdictOf(answer) === "delivered" ? undefined : { error: "status" })
      })
})

const sentenceOf = (answer: WebhookAnswer): string =>
  "missing" in answer
    ? answer.missing === "timeout"
      ? "the receiver did not answer in time"
      : "the receiver could not be reached"
    : `the receiver answered ${answer.status}`

/** Sends one delivery once. That it is given up after its last attempt is in its own list, and makes no dead letter. */
const sending = Effect.gen(function* () {
  const webhooks = yield* Webhooks
  const { attempts_max, retry_ms, source, timeout_ms } = yield* SubscriptionConfig
  const { allow } = yield* WebhookReach
  // Made with the first delivery.
  const sender = yield* Effect.cached(makeSender(allow, timeout_ms))
  const send: DeliveryHandler = Effect.fnUntraced(function* ({ attempts, payload, tenant }) {
    const named = Option.getOrUndefined(decodeSending(payload))
    if (named === undefined) return yield* unreadable
    const { delivery: id } = named
    const at = yield* Clock.currentTimeMillis
    const due = yield* webhooks.due(tenant, id, at)
    // Its webhook was deleted or disabled meanwhile, or an earlier try was written down after all.
    if (due === undefined) return
    const keys = due.secrets.flatMap((secret) => signingKey(secret) ?? [])
    const answer: WebhookAnswer =
      // Never without a signature.
      keys.length === 0 || URL.parse(due.url) === null
        ? { missing: "unreachable" }
        : yield* (yield* sender)({ url: due.url, keys, event: eventOf(due, source) })
    const attempt = attemptOf(at, yield* Clock.currentTimeMillis, answer)
    const verdict = verdictOf(answer)
    const isOver = verdict === "refused" || attempts >= attempts_max
    const status = verdict === "delivered" ? "delivered" : isOver ? "failed" : "waiting"
    const disabled = yield* webhooks.attempted(tenant, id, attempt, status)
    if (disabled !== undefined) {
      yield* Effect.annotateLogs(Effect.logError("a webhook was disabled: its receiver fails"), {
        webhook: disabled,
        tenant
      })
      return
    }
    if (status !== "waiting") return
    const asked = "missing" in answer ? undefined : answer.retry_after_ms
    const wait = Math.min(retry_ms * 4 ** (attempts - 1), retry_max_ms)
    return yield* new DeliveryFailed({
      message: sentenceOf(answer),
      retry_after_ms: Math.max(asked ?? 0, wait)
    })
  }, retried)
  return send
})

/** The handlers of what happened, and of its deliveries. */
export const handlers: Effect.Effect<RoomHandlers, never, ApprovalRecords | TaskStore | Webhooks> =
  Effect.gen(function* () {
    const rooms: RoomHandlers = [
      [webhook_event_topic, yield* telling],
      [webhook_send_topic, yield* sending]
    ]
    return rooms
  })

/** Removes old deliveries, at the start and then every hour. */
export const sweeps: Layer.Layer<never, never, Webhooks> = Layer.effectDiscard(
  Effect.gen(function* () {
    const webhooks = yield* Webhooks
    const { retention_ms } = yield* SubscriptionConfig
    const forgetOld = Effect.gen(function* () {
      const before = (yield* Clock.currentTimeMillis) - retention_ms
      while ((yield* webhooks.forget(before, sweep_max)) >= sweep_max) yield* Effect.yieldNow
    })
    yield* Effect.forkScoped(
      forgetOld.pipe(
        Effect.catch(({ message }) =>
          Effect.logWarning(`old deliveries to webhooks were not removed: ${message}`)
        ),
        Effect.repeat(Schedule.spaced("1 hour"))
      )
    )
  })
)
