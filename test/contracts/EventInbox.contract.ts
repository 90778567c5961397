/** Events that came in: each queues its task once, in one transaction with what remembers it. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ChannelBindings } from "../../services/ChannelBindings.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { EventKey } from "../../services/EventInbox.ts"
import { EventInbox } from "../../services/EventInbox.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { BindingTarget } from "../../src/conversation/ChannelBinding.ts"
import { in_app } from "../../src/conversation/ChannelBinding.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import * as Samples from "./Samples.ts"

type Needs = EventInbox | TaskStore | ConversationStore | ChannelBindings

const event = (given: Partial<EventKey> = {}): EventKey => ({
  tenant: Samples.acme,
  source: "/platform",
  id: Samples.unique("event"),
  digest: "0".repeat(64),
  ...given
})

const olga: BindingTarget = { channel: in_app, address: "olga", recipient: "olga" }

const accept = (key: EventKey, task: NewTask, targets: ReadonlyArray<BindingTarget> = []) =>
  EventInbox.use((inbox) => inbox.accept(key, task, targets))

const tasksOf = (task: NewTask) =>
  TaskStore.use((tasks) => tasks.ofConversation(task.tenant, task.conversation, 0, 500))

const messagesOf = (task: NewTask) =>
  ConversationStore.use((store) => store.messages(task.tenant, task.conversation, -1, 500))

export const eventInboxTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SA-22 an event that is delivered again queues no second task", () =>
    Effect.gen(function* () {
      const key = event()
      const task = Samples.newTask({ initiated_by: "system", trigger_event_id: key.id })
      const first = yield* accept(key, task)
      assert.deepStrictEqual(first, { isNew: true, conversation: task.conversation, task: task.id })
      const again = Samples.newTask({ conversation: task.conversation, address: task.address })
      assert.deepStrictEqual(yield* accept(key, again), { ...first, isNew: false })
      assert.deepStrictEqual(
        (yield* tasksOf(task)).map(({ id }) => id),
        [task.id]
      )
      assert.lengthOf(yield* messagesOf(task), 1)
    })
  )

  it.effect("an event that is delivered twenty times at once queues one task", () =>
    Effect.gen(function* () {
      const key = event()
      const { address, conversation } = Samples.newTask()
      const tasks = Array.from({ length: 20 }, () => Samples.newTask({ address, conversation }))
      const received = yield* Effect.forEach(tasks, (task) => accept(key, task), {
        concurrency: "unbounded"
      })
      assert.lengthOf(
        received.filter(({ isNew }) => isNew),
        1
      )
      assert.strictEqual(new Set(received.map(({ task }) => task)).size, 1)
      assert.lengthOf(yield* tasksOf(tasks[0]!), 1)
    })
  )

  it.effect(
    "SA-20 two events of one conversation are two messages of the system and two tasks",
    () =>
      Effect.gen(function* () {
        const first = Samples.newTask({ initiated_by: "system", trigger_event_id: "e-1" })
        const { address, conversation } = first
        const second = Samples.newTask({ address, conversation, trigger_event_id: "e-2" })
        yield* accept(event(), first, [olga])
        yield* accept(event(), second, [{ ...olga, address: "later" }])
        assert.deepStrictEqual(
          (yield* messagesOf(first)).map(({ role, run_id, seq }) => ({ role, run_id, seq })),
          [
            { role: "system", run_id: first.id, seq: 0 },
            { role: "system", run_id: second.id, seq: 1 }
          ]
        )
        assert.lengthOf(yield* tasksOf(first), 2)
        const stored = yield* ConversationStore.use((store) =>
          store.get(first.tenant, conversation)
        )
        assert.deepInclude(stored, { initiated_by: "system", trigger_event_id: "e-1" })
        const bindings = yield* ChannelBindings.use((all) => all.of(first.tenant, conversation))
        assert.deepStrictEqual(bindings, [{ tenant: first.tenant, conversation, ...olga }])
      })
  )

  it.effect(
    "SA-41 an event whose task is refused is not remembered, and is taken when it may be",
    () =>
      Effect.gen(function* () {
        const key = event()
        const full = Samples.newTask({ waiting_max: 0 })
        assert.strictEqual((yield* Effect.flip(accept(key, full)))._tag, "MailboxFull")
        assert.deepStrictEqual(yield* tasksOf(full), [])
        const other = Samples.newTask()
        yield* accept(event(), other)
        const foreign = Samples.newTask({
          conversation: other.conversation,
          address: { agent: AgentName.make("other"), key: other.address.key }
        })
        assert.strictEqual((yield* Effect.flip(accept(key, foreign)))._tag, "AddressConflict")
        assert.isTrue((yield* accept(key, Samples.newTask())).isNew)
      })
  )

  it.effect("the same source and id with another content is refused", () =>
    Effect.gen(function* () {
      const key = event()
      yield* accept(key, Samples.newTask())
      const other = { ...key, digest: "1".repeat(64) }
      const task = Samples.newTask()
      assert.strictEqual((yield* Effect.flip(accept(other, task)))._tag, "EventConflict")
      assert.deepStrictEqual(yield* tasksOf(task), [])
      const known = EventInbox.use((inbox) => inbox.known(other))
      assert.strictEqual((yield* Effect.flip(known))._tag, "EventConflict")
      const remember = EventInbox.use((inbox) => inbox.remember(other))
      assert.strictEqual((yield* Effect.flip(remember))._tag, "EventConflict")
    })
  )

  it.effect("the same id of another source or another tenant is another event", () =>
    Effect.gen(function* () {
      const key = event()
      assert.isTrue((yield* accept(key, Samples.newTask())).isNew)
      assert.isTrue((yield* accept({ ...key, source: "/other" }, Samples.newTask())).isNew)
      const tenant = Samples.tenant()
      assert.isTrue((yield* accept({ ...key, tenant }, Samples.newTask({ tenant }))).isNew)
    })
  )

  it.effect("ids and sources are kept as they are, whatever is in them", () =>
    Effect.gen(function* () {
      const key = event({ id: `"a' \\ é 🚀 ${Samples.unique("x")}`, source: "/ü?a=b&c" })
      const conversation = ConversationId.make(Samples.unique("c"))
      const task = Samples.newTask({ conversation })
      yield* accept(key, task)
      assert.deepStrictEqual(yield* accept(key, Samples.newTask()), {
        isNew: false,
        conversation,
        task: task.id
      })
    })
  )

  it.effect("an event without a task is remembered once, and forgotten with the oldest", () =>
    Effect.gen(function* () {
      const inbox = yield* EventInbox
      const key = event()
      assert.isUndefined(yield* inbox.known(key))
      assert.isTrue(yield* inbox.remember(key))
      assert.deepStrictEqual(yield* inbox.known(key), { isNew: false })
      assert.isFalse(yield* inbox.remember(key))
      assert.strictEqual(yield* inbox.forget(0, 1_000), 0)
      assert.isFalse(yield* inbox.remember(key))
      const end = Number.MAX_SAFE_INTEGER
      assert.strictEqual(yield* inbox.forget(end, 1), 1)
      for (;;) if ((yield* inbox.forget(end, 5_000)) === 0) break
      assert.isTrue(yield* inbox.remember(key))
    })
  )
}
