/**
 * Decodes what the runtime is given, and checks the caller's right, before anything is done. A customer reaches the
 * conversations that it began and the runs of messages that it sent; anything else is not found. It begins one under an id of its
 * own, or without naming any.
 */
import { Effect } from "effect"
import { AgentNotFound } from "../../../src/agent/AgentSpec.ts"
import {
  isOpenTo,
  isOwnName,
  messageRefusal,
  notItsOwn
} from "../../../src/conversation/CustomerView.ts"
import { ConversationNotFound } from "../../../src/conversation/Conversation.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import { AgentBusy } from "../../../src/delivery/AgentTask.ts"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import type { ConversationId, RunId } from "../../../src/value/Ids.ts"
import { loggingRefusals, logRefusedAct } from "../../../src/principal/RefusedActs.ts"
import { begunBy, hiding } from "../../../src/principal/HiddenReason.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { RightName } from "../../../src/principal/Rights.ts"
import { isLimitedToOwn } from "../../../src/principal/Rights.ts"
import { customerQueuedBehind } from "../../../src/run/QueuedBehind.ts"
import { CallNotUnknown, RunNotFound } from "../../../src/run/RunCommand.ts"
import { AgentRuntime, feedStream } from "../../../services/AgentRuntime.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import type { Cursor } from "../../../src/run/FeedItem.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"
import { digestOf } from "../tool/CallDigests.ts"
import { orJournalError } from "./Acceptance.ts"

interface Services {
  readonly digest: Parameters<typeof digestOf>[0]
  readonly tasks: TaskStore["Service"]
}

const actorsLimit = Entries.limitUpTo(100_000)

/** Fails for a customer that did not send the task, with an error made only then, for its stack (bench row `send`). */
const failUnlessSender = <E extends object>(
  by: Principal,
  right: RightName,
  task: Effect.Effect<AgentTask | undefined, StoreError>,
  missing: () => E
): Effect.Effect<void, E | StoreError> =>
  isLimitedToOwn(by, right)
    ? Effect.flatMap(task, (found) =>
        found?.tenant === by.tenant && isOpenTo(by, right, found.by)
          ? Effect.void
          : loggingRefusals(
              by,
              right,
              Effect.fail(
                found?.tenant === by.tenant ? hiding(begunBy(found.by), missing()) : missing()
              )
            )
      )
    : Effect.void

/** Fails for a customer that did not begin the conversation, which is to have sent its first message. */
const failIfNotBegunBy = (
  { tasks }: Services,
  by: Principal,
  right: RightName,
  id: ConversationId
) => {
  if (!isLimitedToOwn(by, right)) return Effect.void
  const first = Effect.map(tasks.ofConversation(by.tenant, id, 0, 1), ([task]) => task)
  return failUnlessSender(by, right, first, () => new ConversationNotFound({ id }))
}

/** Fails for a customer that did not send the run's message. */
const failIfNotSentBy = ({ tasks }: Services, by: Principal, right: RightName, run_id: RunId) =>
  failUnlessSender(by, right, tasks.get(run_id), () => new RunNotFound({ run_id }))

/** Was the message of the run accepted? Then it is a run without calls, also before it has begun. */
const isAccepted = ({ tasks }: Services, by: Principal, run: RunId) =>
  Effect.map(orJournalError(tasks.get(run)), (task) => task?.tenant === by.tenant)

/** As `failIfNotBegunBy`, for a message, which may begin a conversation under an id that is the customer's own. */
const failIfNotOpenTo = ({ tasks }: Services, by: Principal, id: ConversationId) =>
  isLimitedToOwn(by, "send")
    ? Effect.flatMap(tasks.ofConversation(by.tenant, id, 0, 1), ([first]) => {
        const isOpen = first === undefined ? isOwnName(by, id) : isOpenTo(by, "send", first.by)
        if (isOpen) return Effect.void
        const error = hiding(first && begunBy(first.by), notItsOwn(by, id))
        return loggingRefusals(by, "send", Effect.fail(error))
      })
    : Effect.void

/** Idempotency keys are shared by the staff of a tenant. A customer's key is bound to the customer. */
const withOwnKey = (
  { digest }: Services,
  by: Principal,
  message: Message
): Effect.Effect<Message> => {
  const { idempotency_key: key } = message
  return key === undefined || !isLimitedToOwn(by, "send")
    ? Effect.succeed(message)
    : Effect.map(digestOf(digest, { by: by.id, key }), (hex) => ({
        ...message,
        idempotency_key: `c-${hex}`
      }))
}

/** A customer is told of no question that it may not answer. */
const forCustomer = (
  sent: ReturnType<AgentRuntime["Service"]["send"]>
): ReturnType<AgentRuntime["Service"]["send"]> =>
  sent.pipe(
    Effect.map(({ queued_behind, ...accepted }) => ({
      ...accepted,
      ...(queued_behind && { queued_behind: customerQueuedBehind(queued_behind) })
    })),
    Effect.catchTag("AgentBusy", ({ address, behind, replaces }) =>
      Effect.fail(
        new AgentBusy({
          address,
          ...(behind && { behind: customerQueuedBehind(behind) }),
          ...(replaces && { replaces })
        })
      )
    )
  )

const decodedSend = (
  services: Services,
  runtime: Pick<AgentRuntime["Service"], "send">
): AgentRuntime["Service"]["send"] =>
  Effect.fnUntraced(function* (message, by) {
    const read = yield* Entries.message(message, "message")
    const who = yield* Entries.entitled(by, "send")
    if (read.conversation !== undefined) yield* failIfNotOpenTo(services, who, read.conversation)
    const refusal = messageRefusal(who, read)
    if (refusal !== undefined) {
      yield* logRefusedAct(who, "send", refusal)
      return yield* refusal
    }
    const sent = runtime.send(yield* withOwnKey(services, who, read), who)
    return yield* Effect.catchTag(
      isLimitedToOwn(who, "send") ? forCustomer(sent) : sent,
      "AgentNotFound",
      (missing) =>
        // A customer is not shown which agents there are.
        isLimitedToOwn(who, "send")
          ? new AgentNotFound({ agent: missing.agent, available: [] })
          : missing
    )
  })

export const withDecodedArguments = (
  services: Services,
  runtime: Omit<AgentRuntime["Service"], "watch">
): AgentRuntime["Service"] => {
  // Made once: V8 keeps what a generator function made for each watch reaches until a full collection (bench row `send`).
  const openFeed = Effect.fnUntraced(function* (
    conversation: ConversationId,
    after: Cursor,
    by: Principal,
    isPatient?: boolean
  ) {
    const id = yield* Entries.conversationId(conversation, "conversation")
    const from = yield* Entries.cursor(after, "after")
    const who = yield* Entries.entitled(by, "follow")
    yield* failIfNotBegunBy(services, who, "follow", id)
    return yield* runtime.openFeed(id, from, who, isPatient === true)
  })
  return AgentRuntime.of({
    send: decodedSend(services, runtime),
    fork: Effect.fnUntraced(function* (run, options, by) {
      const id = yield* Entries.runId(run, "run")
      const read = yield* Entries.forkOptions(options, "options")
      return yield* runtime.fork(id, read, yield* Entries.entitled(by, "fork"))
    }),
    currentAgent: Effect.fnUntraced(function* (conversation, by, at) {
      const id = yield* Entries.conversationId(conversation, "conversation")
      const who = yield* Entries.entitled(by, "send")
      yield* failIfNotBegunBy(services, who, "send", id)
      return yield* runtime.currentAgent(id, who, at)
    }),
    // Takes ids that are decoded, and finds nothing for others.
    placeOf: runtime.placeOf,
    openFeed,
    watch: (...of) => feedStream(openFeed(...of)),
    interrupt: Effect.fnUntraced(function* (run, by, reason) {
      const id = yield* Entries.runId(run, "run")
      const who = yield* Entries.entitled(by, "cancel")
      const why = yield* Entries.reason(reason, "reason")
      yield* orJournalError(failIfNotSentBy(services, who, "cancel", id))
      return yield* runtime.interrupt(id, who, why)
    }),
    settle: Effect.fnUntraced(function* (run, call, settlement, by) {
      const id = yield* Entries.runId(run, "run")
      const which = yield* Entries.callId(call, "call")
      const read = yield* Entries.settlement(settlement, "settlement")
      const who = yield* Entries.entitled(by, "settle")
      return yield* Effect.catchTag(
        runtime.settle(id, which, read, who),
        "RunNotFound",
        (missing) =>
          Effect.fail(new CallNotUnknown({ call: which, phase: "none" })).pipe(
            Effect.when(isAccepted(services, who, id)),
            Effect.andThen(Effect.fail(missing))
          )
      )
    }),
    actors: Effect.fnUntraced(function* (limit, tenant) {
      const most = yield* actorsLimit(limit, "limit")
      return yield* runtime.actors(
        most,
        tenant === undefined ? undefined : yield* Entries.tenant(tenant, "tenant")
      )
    })
  })
}
