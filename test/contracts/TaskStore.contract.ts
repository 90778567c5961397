/** Accepting tasks: atomically, once per idempotency key, within the bounds. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect, Exit, Result, Schema } from "effect"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { Outbox } from "../../services/Outbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { dispatched_topic, TaskStore } from "../../services/TaskStore.ts"
import { ConversationMessage } from "../../src/conversation/Conversation.ts"
import type { OutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { contract, eventually } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = TaskStore | ConversationStore | Outbox | RunPorts

/** The outbox row that dispatches a task, claimed; undefined if there is none. */
const dispatchOf = Effect.fnUntraced(function* (task: NewTask) {
  const outbox = yield* Outbox
  const claim = {
    owner: Samples.unique("relay"),
    topics: [dispatched_topic],
    agents: [task.address.agent],
    limit: 500,
    lease_ms: 600_000
  }
  let found: OutboxMessage | undefined
  for (;;) {
    const messages = yield* outbox.claim(claim)
    found ??= messages.find((message) => message.id === task.message_id)
    if (found !== undefined || messages.length === 0) return found
  }
})

const accept = (task: NewTask) => Effect.flatMap(TaskStore, (tasks) => tasks.accept(task))

/** A refused task has written nothing: no task, message or outbox row, and no conversation, if it was new. */
const assertAbsent = Effect.fnUntraced(function* (task: NewTask) {
  const tasks = yield* TaskStore
  assert.isUndefined(yield* tasks.get(task.id))
  assert.isUndefined(yield* dispatchOf(task))
})

const acceptanceTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SA-43 a task is accepted with its conversation, its message and its dispatch", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const conversations = yield* ConversationStore
      const request = Samples.newTask()
      const { created, task } = yield* accept(request)
      assert.isTrue(created)
      const { created_at, ...rest } = task
      assert.deepStrictEqual(rest, {
        id: request.id,
        tenant: request.tenant,
        address: request.address,
        conversation: request.conversation,
        ordinal: 1,
        message: request.message,
        by: request.by,
        trace_id: request.trace_id,
        status: "pending"
      })
      assert.deepStrictEqual(yield* tasks.get(request.id), task)
      assert.deepStrictEqual(yield* tasks.read(request.tenant, request.id), task)
      const page = yield* conversations.messages(request.tenant, request.conversation, -1, 10)
      assert.deepStrictEqual(page, [
        {
          conversation: request.conversation,
          seq: 0,
          role: "user",
          content: request.message,
          channel_origin: "api",
          run_id: request.id,
          created_at
        }
      ])
      const dispatch = yield* dispatchOf(request)
      assert.strictEqual(dispatch?.tenant, request.tenant)
      assert.deepStrictEqual(dispatch?.payload, { task_id: request.id })
    })
  )

  it.effect("AG-46 a task keeps what its sender says of the run around it", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const nested = { depth: 3, tokens_max: 900, cost_max: "0.25", currency: "USD" }
      const answer_schema = { type: "object", properties: { city: { type: "string" } } }
      const context = { user: { id: 7 }, plan: null }
      const said = { nested, answer_schema, context }
      const request = Samples.newTask(said)
      assert.deepInclude((yield* accept(request)).task, said)
      const { conversation, id, tenant } = request
      yield* accept(Samples.newTask({ tenant, conversation, span_id: "00f067aa0ba902b7" }))
      assert.deepInclude(yield* tasks.get(id), said)
      const listed = yield* tasks.ofConversation(tenant, conversation, 0, 10)
      assert.deepStrictEqual(
        listed.map((task) => task.nested),
        [nested, undefined]
      )
    })
  )

  it.effect("a task keeps the roles of its sender, also none, or that they are unknown", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const first = Samples.newTask({ by: 'ada "\u0000', roles: ["approver"], via: "web" })
      const { conversation } = first
      const key = Samples.unique("key")
      const second = Samples.newTask({ conversation, roles: [], idempotency_key: key })
      const third = Samples.newTask({ conversation })
      for (const task of [first, second, third]) yield* accept(task)
      // The same sender has other roles when it sends the message again.
      const again = yield* accept({ ...second, id: Samples.runId(), roles: ["admin"] })
      assert.isFalse(again.created)
      assert.deepStrictEqual(again.task.roles, [])
      const listed = yield* tasks.ofConversation(first.tenant, conversation, 0, 10)
      assert.deepStrictEqual(
        listed.map(({ by, roles, via }) => [by, roles, via]),
        [
          [first.by, ["approver"], "web"],
          ["ada", [], undefined],
          ["ada", undefined, undefined]
        ]
      )
      assert.deepStrictEqual(yield* tasks.get(first.id), listed[0])
    })
  )
}

const atomicityTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SA-41 a refused task leaves no task, message, conversation or dispatch", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const full = Samples.newTask({ waiting_max: 0 })
      assert.strictEqual((yield* Effect.flip(accept(full)))._tag, "MailboxFull")
      const first = Samples.newTask()
      yield* accept(first)
      // The id of the task is taken, which is found after other checks.
      const taken = Samples.newTask({ id: first.id })
      assert.strictEqual((yield* Effect.flip(accept(taken)))._tag, "StoreError")
      assert.isUndefined(yield* dispatchOf(taken))
      yield* assertAbsent(full)
      for (const { conversation, tenant } of [full, taken]) {
        assert.isUndefined(yield* conversations.get(tenant, conversation))
        assert.deepStrictEqual(yield* conversations.messages(tenant, conversation, -1, 10), [])
      }
      const same = Samples.newTask({
        conversation: first.conversation,
        message_id: first.message_id
      })
      assert.strictEqual((yield* Effect.flip(accept(same)))._tag, "StoreError")
      const page = yield* conversations.messages(first.tenant, first.conversation, -1, 10)
      assert.strictEqual(page.length, 1)
      const next = yield* accept(Samples.newTask({ conversation: first.conversation }))
      assert.strictEqual(next.task.ordinal, 2)
    })
  )
}

const conversationTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SA-15 a conversation keeps who began it and the event that triggered it", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      for (const initiated_by of ["customer", "agent", "system"] as const) {
        const request = Samples.newTask({
          initiated_by,
          ...(initiated_by === "system" ? { trigger_event_id: "verdict-7" } : undefined)
        })
        const { task } = yield* accept(request)
        assert.deepStrictEqual(yield* conversations.get(request.tenant, request.conversation), {
          id: request.conversation,
          tenant: request.tenant,
          address: request.address,
          initiated_by,
          ...(initiated_by === "system" ? { trigger_event_id: "verdict-7" } : undefined),
          begun_by: request.by,
          created_at: task.created_at
        })
      }
    })
  )

  it.effect("SA-16 a message keeps role, content and channel; an unknown role is refused", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const content = 'tab\t quote" NUL \u0000 ümlaut \u{1f600} \u2028'
      const request = Samples.newTask({ message: content, channel_origin: "slack" })
      yield* accept(request)
      const page = yield* conversations.messages(request.tenant, request.conversation, -1, 10)
      assert.strictEqual(page[0]?.content, content)
      assert.strictEqual(page[0]?.channel_origin, "slack")
      const decode = Schema.decodeUnknownExit(ConversationMessage)
      for (const role of ["user", "assistant", "system", "tool"] as const) {
        const whole = { ...page[0]!, role, tool_calls: [{ name: "a", arguments: {} }] }
        assert.deepStrictEqual(decode(whole), Exit.succeed(whole))
      }
      assert.isTrue(Exit.isFailure(decode({ ...page[0]!, role: "robot" })))
    })
  )

  it.effect("a message of 1,000,000 bytes comes back whole", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const message = "é".repeat(500_000)
      const { task } = yield* accept(Samples.newTask({ message }))
      assert.isTrue((yield* tasks.get(task.id))?.message === message)
    })
  )
}

const writing = (it: Vitest.MethodsNonLive<Needs>) => {
  acceptanceTests(it)
  atomicityTests(it)
  conversationTests(it)
}

const keys = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("SA-22 the same key with the same message gives the same task, dispatched once", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const first = Samples.newTask({ idempotency_key: Samples.unique("key") })
      const { task } = yield* accept(first)
      const again = { ...first, id: Samples.runId(), message_id: Samples.messageId() }
      assert.deepStrictEqual(yield* accept(again), { task, created: false })
      yield* assertAbsent(again)
      const page = yield* conversations.messages(first.tenant, first.conversation, -1, 10)
      assert.strictEqual(page.length, 1)
    })
  )

  it.effect("a known key finds its task although the mailbox is full or the agent busy", () =>
    Effect.gen(function* () {
      const first = Samples.newTask({ idempotency_key: Samples.unique("key"), waiting_max: 1 })
      yield* accept(first)
      const again = { ...first, id: Samples.runId(), reject_when_busy: true }
      assert.strictEqual((yield* accept(again)).task.id, first.id)
    })
  )

  it.effect("a known key with another message or conversation is a conflict", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const first = Samples.newTask({ idempotency_key: Samples.unique("key") })
      yield* accept(first)
      const fresh = () => ({ id: Samples.runId(), message_id: Samples.messageId() })
      const message = { ...first, ...fresh(), message: "another" }
      assert.strictEqual((yield* Effect.flip(accept(message)))._tag, "IdempotencyConflict")
      yield* assertAbsent(message)
      for (const said of [{ answer_schema: { type: "object" } }, { context: { customer: 7 } }]) {
        const error = yield* Effect.flip(accept({ ...first, ...said, ...fresh() }))
        assert.strictEqual(error._tag, "IdempotencyConflict")
      }
      const elsewhere = Samples.newTask({ idempotency_key: first.idempotency_key })
      assert.strictEqual((yield* Effect.flip(accept(elsewhere)))._tag, "IdempotencyConflict")
      yield* assertAbsent(elsewhere)
      assert.isUndefined(yield* conversations.get(elsewhere.tenant, elsewhere.conversation))
    })
  )

  it.effect("idempotency keys of two tenants are separate", () =>
    Effect.gen(function* () {
      const idempotency_key = Samples.unique("key")
      const a = yield* accept(Samples.newTask({ idempotency_key, tenant: Samples.tenant() }))
      const b = yield* accept(Samples.newTask({ idempotency_key, tenant: Samples.tenant() }))
      assert.isTrue(a.created && b.created)
      assert.notStrictEqual(a.task.id, b.task.id)
    })
  )

  it.effect("of 20 accepts of one key at once one creates the task", () =>
    Effect.gen(function* () {
      const first = Samples.newTask({ idempotency_key: Samples.unique("key") })
      const fresh = () => ({ ...first, id: Samples.runId(), message_id: Samples.messageId() })
      const accepted = yield* Effect.forEach(Array.from({ length: 20 }, fresh), accept, {
        concurrency: "unbounded"
      })
      assert.strictEqual(accepted.filter((each) => each.created).length, 1)
      assert.strictEqual(new Set(accepted.map((each) => each.task.id)).size, 1)
    })
  )
}

const mailboxTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("50 accepts at once get the ordinals 1 to 50 without a gap", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const conversations = yield* ConversationStore
      const { conversation, tenant } = Samples.newTask()
      const accepted = yield* Effect.forEach(
        Array.from({ length: 50 }, (_, i) => Samples.newTask({ conversation, message: `m${i}` })),
        accept,
        { concurrency: "unbounded" }
      )
      const all = Array.from({ length: 50 }, (_, i) => i + 1)
      const ordinals = accepted.map((each) => each.task.ordinal).sort((a, b) => a - b)
      assert.deepStrictEqual(ordinals, all)
      const stored = yield* tasks.ofConversation(tenant, conversation, 0, 500)
      assert.deepStrictEqual(
        stored.map((task) => task.ordinal),
        all
      )
      const page = yield* conversations.messages(tenant, conversation, -1, 500)
      assert.deepStrictEqual(
        page.map((message) => message.seq + 1),
        all
      )
    })
  )

  it.effect("a mailbox holds waiting_max tasks and has room again when one ends", () =>
    Effect.gen(function* () {
      const first = yield* Samples.finish({ waiting_max: 2 })
      const { conversation } = first.task
      const next = () => Samples.newTask({ conversation, waiting_max: 2 })
      yield* Samples.begin({ conversation, waiting_max: 2 })
      yield* accept(next())
      const refused = next()
      assert.strictEqual((yield* Effect.flip(accept(refused)))._tag, "MailboxFull")
      yield* assertAbsent(refused)
      assert.strictEqual((yield* accept({ ...next(), waiting_max: 3 })).task.ordinal, 4)
    })
  )

  it.effect("of 20 accepts at once a mailbox of 5 takes 5", () =>
    Effect.gen(function* () {
      const { conversation } = Samples.newTask()
      const results = yield* Effect.forEach(
        Array.from({ length: 20 }, () => Samples.newTask({ conversation, waiting_max: 5 })),
        (task) => Effect.result(accept(task)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(Result.isSuccess).length, 5)
    })
  )

  it.effect("an agent that rejects takes no second message while it is busy", () =>
    Effect.gen(function* () {
      const { task } = yield* Samples.begin({ reject_when_busy: true })
      const second = Samples.newTask({ conversation: task.conversation, reject_when_busy: true })
      assert.strictEqual((yield* Effect.flip(accept(second)))._tag, "AgentBusy")
      yield* assertAbsent(second)
      const idle = yield* Samples.finish({ reject_when_busy: true })
      const { conversation } = idle.task
      const after = yield* accept(Samples.newTask({ conversation, reject_when_busy: true }))
      assert.isTrue(after.created)
    })
  )
}

const addressTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a conversation of another agent of the tenant is refused", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const first = Samples.newTask()
      yield* accept(first)
      const { conversation } = first
      const agent = Samples.newTask({
        address: { agent: AgentName.make("spectral"), key: conversation }
      })
      assert.strictEqual((yield* Effect.flip(accept(agent)))._tag, "AddressConflict")
      yield* assertAbsent(agent)
      const page = yield* conversations.messages(first.tenant, conversation, -1, 10)
      assert.strictEqual(page.length, 1)
    })
  )
}

const relay = { topics: [dispatched_topic], agents: [Samples.operations], limit: 500 }

/** The dispatch of each of these tasks, claimed; undefined where there is none that is free. */
const freeDispatches = Effect.fnUntraced(function* (...tasks: ReadonlyArray<NewTask>) {
  const outbox = yield* Outbox
  const found: Array<OutboxMessage> = []
  for (;;) {
    const messages = yield* outbox.claim({
      ...relay,
      owner: Samples.unique("relay"),
      lease_ms: 600_000
    })
    found.push(...messages)
    if (messages.length === 0) break
  }
  return tasks.map(({ message_id }) => found.find(({ id }) => id === message_id))
})

const claimTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  const claimed = (given: Partial<NewTask> = {}, lease_ms = 600_000) =>
    Samples.newTask({ ...given, claim: { owner: Samples.unique("process") + ".1", lease_ms } })

  it.effect("a task of an idle address is held by its claim, and one behind it waits", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const first = claimed()
      const { created, held, task } = yield* accept(first)
      assert.deepStrictEqual([created, held, task.status], [true, true, "pending"])
      const second = claimed({ conversation: first.conversation })
      assert.isUndefined((yield* accept(second)).held)
      const other = Samples.newTask()
      assert.isUndefined((yield* accept(other)).held)
      const [a, b, c] = yield* freeDispatches(first, second, other)
      assert.isUndefined(a)
      assert.isUndefined(b)
      assert.strictEqual(c?.attempts, 1)
      // Given back, it is delivered as if it had never been held, and the one behind it after it.
      yield* outbox.release([first.claim?.owner ?? ""])
      const [back, behind] = yield* freeDispatches(first, second)
      assert.deepStrictEqual([back?.attempts, back?.payload], [1, { task_id: first.id }])
      assert.isUndefined(behind)
    })
  )

  it.effect("a task whose claim ends is delivered, and counts the attempt", () =>
    Effect.gen(function* () {
      const task = claimed({}, 1)
      assert.isTrue((yield* accept(task)).held)
      const found = yield* eventually(
        Effect.map(freeDispatches(task), ([message]) => message),
        (message) => message !== undefined
      )
      assert.strictEqual(found?.attempts, 2)
    })
  )

  it.effect("a task is held once the run before it has ended and its dispatch is gone", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const outbox = yield* Outbox
      const claim = { owner: Samples.unique("process") + ".1", lease_ms: 600_000 }
      const begin = Effect.fnUntraced(function* () {
        const begun = yield* Samples.begin({ claim }, [Samples.modelTurned(1)])
        assert.isTrue(yield* outbox.delivered(begun.task.message_id, claim.owner))
        return begun
      })
      const { conversation: busy } = (yield* begin()).task
      assert.isUndefined((yield* accept(claimed({ conversation: busy }))).held)
      const begun = yield* begin()
      yield* journal.append(begun.next(Samples.runEnded()))
      const { conversation: idle } = begun.task
      assert.isTrue((yield* accept(claimed({ conversation: idle }))).held)
      const ended = yield* Samples.finish()
      const late = yield* accept(claimed({ conversation: ended.task.conversation }))
      assert.isUndefined(late.held)
    })
  )

  it.effect("a known key is not held, whoever asks", () =>
    Effect.gen(function* () {
      const first = claimed({ idempotency_key: Samples.unique("key") })
      const { task } = yield* accept(first)
      const again = { ...first, id: Samples.runId(), message_id: Samples.messageId() }
      assert.deepStrictEqual(yield* accept(again), { task, created: false })
    })
  )
}

const bounds = (it: Vitest.MethodsNonLive<Needs>) => {
  mailboxTests(it)
  addressTests(it)
}

const reading = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("tasks of a conversation are read in order, and ended ones in reverse order", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const first = yield* Samples.finish()
      const { conversation, tenant } = first.task
      const second = yield* Samples.finish({ conversation }, { status: "failed", reason: "x" })
      const third = yield* Samples.begin({ conversation })
      const fourth = yield* Samples.finish({ conversation })
      const ids = (page: ReadonlyArray<{ readonly id: string }>) => page.map((task) => task.id)
      assert.deepStrictEqual(ids(yield* tasks.ofConversation(tenant, conversation, 1, 2)), [
        second.run,
        third.run
      ])
      const before = (ordinal: number, limit: number) =>
        Effect.map(tasks.endedBefore(tenant, conversation, ordinal, limit), ids)
      assert.deepStrictEqual(yield* before(5, 10), [fourth.run, second.run, first.run])
      assert.deepStrictEqual(yield* before(4, 1), [second.run])
      assert.deepStrictEqual(yield* before(1, 10), [])
      assert.isUndefined(yield* tasks.get(Samples.runId()))
      assert.strictEqual(yield* tasks.newestOrdinal(tenant, conversation), 4)
      assert.strictEqual(yield* tasks.newestOrdinal(Samples.tenant(), conversation), 0)
    })
  )
}

export const taskStoreTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  writing(it)
  keys(it)
  claimTests(it)
  bounds(it)
  reading(it)
}

export const taskStoreContract = contract("TaskStore", taskStoreTests)
