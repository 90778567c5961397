/**
 * The door of a runtime: whatever it is given is decoded before anything is done with it, and whoever asks has to have the
 * right. A customer gets to conversations that it began itself and to runs of messages that it sent; what else there is,
 * is not found.
 */
import { Effect, Stream } from "effect"
import { isOpenTo } from "../../../src/conversation/CustomerAccess.ts"
import { ConversationNotFound } from "../../../src/conversation/Conversation.ts"
import * as Entries from "../../../src/entry/Entries.ts"
import type { ConversationId, RunId } from "../../../src/Ids.ts"
import type { Principal } from "../../../src/Principal.ts"
import type { RightName } from "../../../src/Rights.ts"
import { isOnlyOwn } from "../../../src/Rights.ts"
import { CallNotUnknown, RunNotFound } from "../../../src/run/RunCommand.ts"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { Message } from "../../../services/AgentRuntime.ts"
import { JournalError } from "../../../services/RunJournal.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"
import { digestOf } from "../tool/CallDigests.ts"

interface Services {
  readonly digest: Parameters<typeof digestOf>[0]
  readonly tasks: TaskStore["Service"]
}

const actorsLimit = Entries.limitUpTo(100_000)

/** Whoever sent the first message of a conversation began it. */
const open = Effect.fnUntraced(function* (
  { tasks }: Services,
  by: Principal,
  right: RightName,
  id: ConversationId
) {
  if (!isOnlyOwn(by, right)) return
  const [first] = yield* tasks.ofConversation(by.tenant, id, 0, 1)
  if (!isOpenTo(by, right, first?.by)) return yield* new ConversationNotFound({ id })
})

const openRun = Effect.fnUntraced(function* (
  { tasks }: Services,
  by: Principal,
  right: RightName,
  run_id: RunId
) {
  if (!isOnlyOwn(by, right)) return
  const task = yield* tasks.get(run_id)
  if (task?.tenant !== by.tenant || !isOpenTo(by, right, task.by)) {
    return yield* new RunNotFound({ run_id })
  }
})

/** A message that was accepted is a run, also where nobody has begun it: it has no call yet. */
const isAccepted = ({ tasks }: Services, by: Principal, run: RunId) =>
  Effect.match(tasks.get(run), {
    onFailure: () => false,
    onSuccess: (task) => task?.tenant === by.tenant
  })

/** Staff share the keys of their tenant; those of a customer are its own, and name nobody else's task. */
const keyed = Effect.fnUntraced(function* (
  { digest }: Services,
  by: Principal,
  message: Message
): Effect.fn.Return<Message> {
  const { idempotency_key: key } = message
  if (key === undefined || !isOnlyOwn(by, "send")) return message
  return { ...message, idempotency_key: `c-${yield* digestOf(digest, { by: by.id, key })}` }
})

export const decoded = (
  services: Services,
  runtime: AgentRuntime["Service"]
): AgentRuntime["Service"] =>
  AgentRuntime.of({
    send: Effect.fnUntraced(function* (message, by) {
      const read = yield* Entries.message(message, "message")
      const who = yield* Entries.entitled(by, "send")
      if (read.conversation !== undefined) yield* open(services, who, "send", read.conversation)
      return yield* runtime.send(yield* keyed(services, who, read), who)
    }),
    watch: (conversation, after, by) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const id = yield* Entries.conversationId(conversation, "conversation")
          const from = yield* Entries.cursor(after, "after")
          const who = yield* Entries.entitled(by, "follow")
          yield* open(services, who, "follow", id)
          return runtime.watch(id, from, who)
        })
      ),
    interrupt: Effect.fnUntraced(function* (run, by, reason) {
      const id = yield* Entries.runId(run, "run")
      const who = yield* Entries.entitled(by, "cancel")
      const why = yield* Entries.reason(reason, "reason")
      yield* Effect.catchTag(openRun(services, who, "cancel", id), "StoreError", ({ message }) =>
        Effect.fail(new JournalError({ message, lost: false }))
      )
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
