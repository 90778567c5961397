/**
 * Notifies people of answers and questions in conversations that are bound to channels. The in-app copy is written first: it
 * commits together with one outbox message for each channel, so that a failing channel is retried by itself and delays no other.
 * Preferences decide which channels are used; the in-app copy is always written.
 */
import { Clock, Context, Effect, Layer, Option, Schedule, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import {
  answered_topic,
  asked_topic,
  ChannelBindings,
  settled_topic
} from "../../services/ChannelBindings.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { DeliveryHandler, RoomHandlers } from "../../services/DeliveryHandlers.ts"
import { DeliveryFailed, DeliveryRefused } from "../../services/DeliveryHandlers.ts"
import type { DigestItem, NoticeRecipient } from "../../services/Notices.ts"
import { Notices } from "../../services/Notices.ts"
import { StoreError } from "../../services/StoreError.ts"
import { StorePace } from "../../services/StorePace.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { ChannelBinding } from "../../src/conversation/ChannelBinding.ts"
import { ChannelName, ChannelPlace, in_app } from "../../src/conversation/ChannelBinding.ts"
import type { ConversationMessage } from "../../src/conversation/Conversation.ts"
import { customerNotice } from "../../src/conversation/CustomerView.ts"
import { textUpTo } from "../../src/value/Bounds.ts"
import { cutText } from "../../src/value/CutText.ts"
import { modeOf, NoticeContent, notice_units_max } from "../../src/delivery/Notice.ts"
import { questionText } from "../../src/delivery/QuestionText.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import type { NewOutboxMessage, OutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import { ApprovalId, ConversationId } from "../../src/value/Ids.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import {
  aboutQuestion,
  customersOf,
  keepPost,
  newMessageId,
  settleQuestion,
  topicOf
} from "./SettledQuestions.ts"
import type { SettlingNeeds } from "./SettledQuestions.ts"

const PostName = textUpTo(500)
const isPostName = Schema.is(PostName)

/** What a channel has to deliver at one place: one notice, or those of a digest. */
export const Outgoing = Schema.Struct({
  /** Where in the channel: an e-mail address, a Slack channel. */
  address: ChannelPlace,
  /** The id of the principal who is told. */
  recipient: ChannelPlace,
  /** What to tell: one notice, or 2 to 100 of a digest, oldest first. */
  contents: Schema.Array(NoticeContent).check(Schema.isMinLength(1), Schema.isMaxLength(100)),
  /**
   * The adapter's own name of a message that it delivered: a question, which is settled now (`contents`). The adapter changes that
   * message, or adds to it.
   */
  post: Schema.optionalKey(PostName)
})
export interface Outgoing extends Schema.Schema.Type<typeof Outgoing> {}

/** One way to reach people. */
export interface ChannelAdapter {
  /** The name of the channel, as bindings and preferences use it. */
  readonly name: ChannelName
  /**
   * Delivers a message. It is called again with the same message id if the process died before the delivery was recorded. It may
   * give the message's name in the channel (1 to 500 characters): then, if the message is one question, it is called with that
   * name as `post` once the question is settled.
   */
  readonly deliver: (
    outgoing: Outgoing,
    message: OutboxMessage
  ) => Effect.Effect<string | void, DeliveryFailed | DeliveryRefused>
}

/** The times of digests and notices. */
export class NotificationConfig extends Context.Reference<{
  /** How long notices wait for a digest, in ms. */
  readonly digest_ms: number
  /** How long notices are kept, in ms. */
  readonly retention_ms: number
  /**
   * The wait before a failed channel is tried again if it does not state a wait, in ms. Each further wait is four times as long.
   */
  readonly retry_ms: number
  /**
   * How long one delivery may take, in ms; absent = 25,000. The relay's own limit has to be longer: after that, it waits only
   * seconds before the next attempt.
   */
  readonly deliver_ms?: number | undefined
}>("troupe/layers/channel/NotificationConfig", {
  defaultValue: () => ({ digest_ms: 86_400_000, retention_ms: 90 * 86_400_000, retry_ms: 15_000 })
}) {}

/** The longest wait before another attempt, which equals the relay's. */
const retry_max_ms = 900_000
const digest_max = 100
const sweep_max = 1_000

const decodeAnswered = Schema.decodeUnknownOption(
  Schema.Struct({ conversation: ConversationId, seq: Schema.Int })
)
const decodeAsked = Schema.decodeUnknownOption(
  Schema.Struct({ conversation: ConversationId, approval: ApprovalId })
)
const decodeOutgoing = Schema.decodeUnknownOption(Outgoing)

const unreadable = new DeliveryRefused({ message: "the payload names nothing to be told" })

const textOf = ({ content, finish }: ConversationMessage): string =>
  cutText(
    content === "" ? `The agent gave no text (${finish ?? "it is empty"}).` : content,
    notice_units_max
  )

const retried = <A, E, R>(
  effect: Effect.Effect<A, E | StoreError, R>
): Effect.Effect<A, Exclude<E, StoreError> | DeliveryFailed, R> =>
  Effect.mapError(effect, (error) =>
    error instanceof StoreError
      ? new DeliveryFailed({ message: error.message })
      : (error as Exclude<E, StoreError>)
  )

/** The content for a recipient. It is less than the in-app copy, which is reduced only when a customer reads it. */
type ContentOf = (recipient: string) => NoticeContent

const teller = Effect.fnUntraced(function* (channels: ReadonlySet<ChannelName>) {
  const bindings = yield* ChannelBindings
  const notices = yield* Notices
  const random = yield* SecureRandom.SecureRandom

  const recipientOf = Effect.fnUntraced(function* (
    tenant: Tenant,
    recipient: string,
    mine: ReadonlyArray<ChannelBinding>,
    content: NoticeContent
  ) {
    const preferences = yield* notices.preferences(tenant, recipient)
    const messages: Array<NewOutboxMessage> = []
    const digest: Array<DigestItem> = []
    for (const { address, channel } of mine) {
      if (channel === in_app) continue
      if (!channels.has(channel)) {
        // A message that nobody delivers would wait for ever.
        yield* Effect.logWarning(`there is no channel ${channel} here, so nobody is told there`)
        continue
      }
      const mode = modeOf(preferences, channel)
      if (mode === "digest") digest.push({ tenant, channel, address, recipient, content })
      if (mode !== "immediately") continue
      messages.push({
        id: yield* Effect.provideService(newMessageId, SecureRandom.SecureRandom, random),
        tenant,
        key: `channel/${channel}/${content.conversation}/${address}`,
        topic: topicOf(channel),
        payload: { address, recipient, contents: [content] }
      })
    }
    const result: NoticeRecipient = { recipient, messages, digest }
    return result
  })

  return Effect.fnUntraced(function* (
    tenant: Tenant,
    about: string,
    content: NoticeContent,
    contentOf: ContentOf = () => content
  ) {
    const all = yield* bindings.of(tenant, content.conversation)
    const recipients = yield* Effect.forEach(
      [...Map.groupBy(all, ({ recipient }) => recipient)],
      ([recipient, mine]) => recipientOf(tenant, recipient, mine, contentOf(recipient))
    )
    yield* notices.record({ tenant, about, content, recipients })
  })
})

/** Adds a wait to a failure: with the relay's five attempts, a channel may be down for twenty minutes. */
const withWait = (
  error: DeliveryFailed | DeliveryRefused,
  attempts: number,
  retry_ms: number
): DeliveryFailed | DeliveryRefused =>
  error instanceof DeliveryRefused || error.retry_after_ms !== undefined
    ? error
    : new DeliveryFailed({
        message: error.message,
        retry_after_ms: Math.min(retry_ms * 4 ** (attempts - 1), retry_max_ms)
      })

type Settling = Context.Context<SettlingNeeds>

/**
 * Leaves out questions that are already settled, because a digest may wait for a day and a channel may have been down. Where the
 * process died between the delivery of one and the end of `keepPost`, its end is told now.
 */
const withoutSettled = (
  settling: Settling,
  { contents, ...place }: Outgoing
): Effect.Effect<Outgoing, DeliveryFailed> =>
  Effect.gen(function* () {
    const open: Array<NoticeContent> = []
    for (const content of contents) {
      const { approval, kind } = content
      const found =
        approval === undefined || kind !== "question"
          ? undefined
          : yield* ApprovalRecords.use(({ get }) => get(approval))
      if (approval === undefined || kind !== "question" || found?.status === "pending") {
        open.push(content)
      } else if (found !== undefined && contents.length === 1) {
        yield* settleQuestion(content, found)
      }
    }
    return { ...place, contents: open }
  }).pipe(Effect.provideContext(settling), retried)

/** Keeps the name that an adapter gives to a message of one question. Without it, nobody changes the message later. */
const keeping = (
  settling: Settling,
  channel: ChannelName,
  { address, contents, recipient }: Outgoing,
  tenant: Tenant,
  post: unknown
): Effect.Effect<void> => {
  const [content, ...more] = contents
  if (content?.kind !== "question" || content.approval === undefined || more.length > 0)
    return Effect.void
  return isPostName(post)
    ? keepPost(content, {
        tenant,
        approval: content.approval,
        channel,
        address,
        recipient,
        post
      }).pipe(
        Effect.provideContext(settling),
        // Told again, it would stand there twice.
        Effect.catch(({ message }) =>
          Effect.logWarning(`a question in the channel ${channel} will look open: ${message}`)
        )
      )
    : Effect.void
}

const deliver_ms_default = 25_000

/** A delivery that throws or does not end is one that failed: it is tried again for as long as others are. */
const whole = (
  name: ChannelName,
  deliver_ms: number,
  delivery: ReturnType<ChannelAdapter["deliver"]>
): ReturnType<ChannelAdapter["deliver"]> =>
  delivery.pipe(
    Effect.catchDefect((defect) =>
      Effect.andThen(
        Effect.logError(`the adapter of the channel ${name} threw`, defect),
        new DeliveryFailed({
          message: `the adapter threw: ${defect instanceof Error ? defect.message : "something that is no error"}`
        })
      )
    ),
    Effect.timeoutOrElse({
      duration: deliver_ms,
      orElse: () => new DeliveryFailed({ message: `no answer within ${deliver_ms} ms` })
    })
  )

type Times = Effect.Success<typeof NotificationConfig>

const delivering =
  (
    { deliver, name }: ChannelAdapter,
    settling: Settling,
    { deliver_ms = deliver_ms_default, retry_ms }: Times
  ): DeliveryHandler =>
  (message) => {
    const outgoing = Option.getOrUndefined(decodeOutgoing(message.payload))
    if (outgoing === undefined) return Effect.fail(unreadable)
    return Effect.flatMap(withoutSettled(settling, outgoing), (open) =>
      open.contents.length === 0
        ? Effect.void
        : Effect.flatMap(
            whole(
              name,
              deliver_ms,
              Effect.suspend(() => deliver(open, message))
            ),
            (post) => keeping(settling, name, open, message.tenant, post)
          )
    ).pipe(
      Effect.mapError((error) => withWait(error, message.attempts, retry_ms)),
      Effect.tapError((error) =>
        Effect.annotateLogs(Effect.logWarning(`the channel ${name} failed: ${error.message}`), {
          message_id: message.id,
          tenant: message.tenant,
          attempt: message.attempts
        })
      )
    )
  }

type Tell = Effect.Success<ReturnType<typeof teller>>

/** The handlers of a question's begin and of its end. */
const questionHandlers = Effect.fnUntraced(function* (tell: Tell) {
  const conversations = yield* ConversationStore
  const approvals = yield* ApprovalRecords
  const settling = yield* Effect.context<SettlingNeeds>()

  const asked: DeliveryHandler = Effect.fnUntraced(function* ({ payload, tenant }) {
    const question = Option.getOrUndefined(decodeAsked(payload))
    if (question === undefined) return yield* unreadable
    const { approval: id, conversation } = question
    const found = yield* conversations.get(tenant, conversation)
    const approval = yield* approvals.get(id)
    if (found === undefined || approval?.tenant !== tenant) {
      return yield* new DeliveryRefused({ message: "the question is gone" })
    }
    if (approval.status !== "pending") return
    const content = {
      kind: "question",
      conversation,
      agent: found.address.agent,
      text: questionText(approval),
      run_id: approval.run_id,
      approval: id
    } as const
    const customers = approval.approvers.includes("customer")
      ? // It is theirs to decide.
        new Set<string>()
      : yield* Effect.provideContext(customersOf(content, tenant), settling)
    yield* tell(tenant, aboutQuestion(approval), content, (recipient) =>
      customers.has(recipient) ? customerNotice(content) : content
    )
  }, retried)

  const settled: DeliveryHandler = Effect.fnUntraced(function* ({ payload, tenant }) {
    const question = Option.getOrUndefined(decodeAsked(payload))
    if (question === undefined) return yield* unreadable
    const { approval: id, conversation } = question
    const found = yield* conversations.get(tenant, conversation)
    const approval = yield* approvals.get(id)
    // An erasure, which took their words away, is no failure.
    if (found === undefined || approval?.tenant !== tenant) return
    if (approval.status === "pending") return
    const place = { conversation, agent: found.address.agent }
    yield* Effect.provideContext(settleQuestion(place, approval), settling)
  }, retried)

  return { asked, settled }
})

const makeHandlers = Effect.fnUntraced(function* (adapters: ReadonlyArray<ChannelAdapter>) {
  const conversations = yield* ConversationStore
  const settling = yield* Effect.context<SettlingNeeds>()
  const times = yield* NotificationConfig
  const tell = yield* teller(new Set(adapters.map(({ name }) => name)))

  const answered: DeliveryHandler = Effect.fnUntraced(function* ({ payload, tenant }) {
    const said = Option.getOrUndefined(decodeAnswered(payload))
    if (said === undefined) return yield* unreadable
    const { conversation, seq } = said
    const found = yield* conversations.get(tenant, conversation)
    const [message] = yield* conversations.messages(tenant, conversation, seq - 1, 1)
    if (found === undefined || message?.seq !== seq) {
      return yield* new DeliveryRefused({ message: "what was said is gone" })
    }
    yield* tell(tenant, `answer/${conversation}/${seq}`, {
      kind: "answer",
      conversation,
      agent: found.address.agent,
      text: textOf(message),
      ...(message.run_id === undefined ? undefined : { run_id: message.run_id })
    })
  }, retried)

  const { asked, settled } = yield* questionHandlers(tell)
  const rooms: RoomHandlers = [
    [answered_topic, answered],
    [asked_topic, asked],
    [settled_topic, settled],
    ...adapters.map(
      (adapter) => [topicOf(adapter.name), delivering(adapter, settling, times)] as const
    )
  ]
  return rooms
})

/** The services that the handlers need. */
export type Foundation =
  | ApprovalRecords
  | ChannelBindings
  | ConversationStore
  | Notices
  | SecureRandom.SecureRandom
  | TaskStore

const isName = Schema.is(ChannelName)

/** An adapter is made by an Effect of the application, which in JavaScript may give anything. */
const failUnlessAdapters = (given: ReadonlyArray<unknown>) =>
  Effect.forEach(given, (adapter, index) => {
    const { deliver, name } = Object(adapter) as {
      readonly deliver?: unknown
      readonly name?: unknown
    }
    if (isName(name) && typeof deliver === "function") return Effect.void
    const message =
      "Expected an Effect of { name, deliver }: a name in lower case, at most 32 characters, and a function"
    return Effect.fail(new InvalidInput({ field: `channels.${index}`, reason: message }))
  })

/** The outbox handlers that write notices, and those that deliver to channels. A channel without an adapter gets nothing. */
export const handlers = <E, R>(
  adapters: ReadonlyArray<Effect.Effect<ChannelAdapter, E, R>>
): Effect.Effect<RoomHandlers, E | InvalidInput, R | Foundation> =>
  Effect.all(adapters).pipe(Effect.tap(failUnlessAdapters), Effect.flatMap(makeHandlers))

/**
 * Sends one message to each address with the notices that have waited since before `before` (ms since 1970), together with all
 * others that wait there.
 */
export const sendDigests = Effect.fnUntraced(function* (before: number) {
  const notices = yield* Notices
  for (;;) {
    const id = yield* newMessageId
    const isTold = yield* notices.digest(before, digest_max, (items) => {
      const [{ address, channel, recipient, tenant }] = items as [DigestItem]
      return {
        id,
        tenant,
        key: `channel/${channel}/digest/${address}`,
        topic: topicOf(channel),
        payload: { address, recipient, contents: items.map(({ content }) => content) }
      }
    })
    if (!isTold) return
  }
})

const forgetOld = Effect.fnUntraced(function* (retention_ms: number) {
  const notices = yield* Notices
  const before = (yield* Clock.currentTimeMillis) - retention_ms
  while ((yield* notices.forget(before, sweep_max)) >= sweep_max) yield* Effect.yieldNow
})

/**
 * Sends digests whose time has come, and removes old notices: at the start, and then every minute, or every ten where no other
 * process writes.
 */
export const sweeps: Layer.Layer<never, never, Notices | SecureRandom.SecureRandom> =
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { digest_ms, retention_ms } = yield* NotificationConfig
      const pace = yield* StorePace
      const dueDigests = Effect.flatMap(Clock.currentTimeMillis, (now) =>
        sendDigests(now - digest_ms)
      )
      yield* Effect.forkScoped(
        Effect.andThen(dueDigests, forgetOld(retention_ms)).pipe(
          Effect.catch(({ message }) =>
            Effect.logWarning(`digests were not sent, or old notices not removed: ${message}`)
          ),
          Effect.repeat(Schedule.spaced(Math.min(pace(60_000), 600_000)))
        )
      )
    })
  )
