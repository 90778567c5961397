/** Two tenants that use the same ids: each has its own conversation, tasks, runs and mailboxes, and no effect on the other. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { Outbox } from "../../services/Outbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { dispatched_topic, TaskStore } from "../../services/TaskStore.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import * as Samples from "./Samples.ts"

type Needs = ConversationStore | Outbox | RunPorts | TaskStore

const accept = (task: NewTask) => Effect.flatMap(TaskStore, (tasks) => tasks.accept(task))

/** One conversation id with a task of each of two tenants: of different agents, unless `agent` is given. */
const pair = (agent?: AgentName) => {
  const conversation = ConversationId.make(Samples.unique("c"))
  const of = (name: AgentName) => {
    const tenant = Samples.tenant()
    const address = { agent: name, key: conversation }
    return {
      tenant,
      address,
      task: (given: Partial<NewTask> = {}) =>
        Samples.newTask({ tenant, address, conversation, ...given })
    }
  }
  return {
    conversation,
    a: of(agent ?? Samples.operations),
    b: of(agent ?? AgentName.make("spectral"))
  }
}

const sharedIdTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("100 accepts at once of two tenants, with the same ids and keys, stay separate", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const conversations = yield* ConversationStore
      const { a, b, conversation } = pair()
      const requests = Array.from({ length: 100 }, (_, i) => {
        const one = i % 2 === 0 ? a : b
        const n = Math.floor(i / 2)
        return one.task({ message: `${one.tenant} ${n}`, idempotency_key: `key-${n}` })
      })
      const accepted = yield* Effect.forEach(requests, accept, { concurrency: "unbounded" })
      assert.isTrue(accepted.every(({ created }) => created))
      for (const { address, tenant } of [a, b]) {
        const own = requests.filter((request) => request.tenant === tenant)
        const stored = yield* tasks.ofConversation(tenant, conversation, 0, 500)
        assert.deepStrictEqual(
          stored.map(({ ordinal }) => ordinal),
          Array.from({ length: 50 }, (_, i) => i + 1)
        )
        assert.sameMembers(
          stored.map(({ message }) => message),
          own.map(({ message }) => message)
        )
        assert.isTrue(stored.every((task) => task.tenant === tenant))
        const page = yield* conversations.messages(tenant, conversation, -1, 500)
        assert.deepStrictEqual(
          page.map(({ content, seq }) => [seq, content]),
          stored.map(({ message }, i) => [i, message])
        )
        const known = yield* conversations.get(tenant, conversation)
        assert.deepStrictEqual(known?.address, address)
        const { items: listed } = yield* conversations.list({ tenant, limit: 10 })
        assert.deepStrictEqual(
          listed.map(({ id }) => id),
          [conversation]
        )
        // The same message sent again gives the tenant's own task.
        const again = yield* accept({ ...own[7]!, id: Samples.runId() })
        assert.deepInclude(again, { created: false })
        assert.deepInclude(again.task, { id: own[7]!.id, tenant })
      }
    })
  )
}

const mailboxTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "the messages of one tenant neither fill another's mailbox nor make its agent busy",
    () =>
      Effect.gen(function* () {
        const { a, b } = pair(Samples.operations)
        yield* accept(a.task())
        yield* accept(a.task())
        const full = a.task({ waiting_max: 2 })
        assert.strictEqual((yield* Effect.flip(accept(full)))._tag, "MailboxFull")
        assert.isTrue((yield* accept(b.task({ reject_when_busy: true, waiting_max: 2 }))).created)
        const busy = b.task({ reject_when_busy: true })
        assert.strictEqual((yield* Effect.flip(accept(busy)))._tag, "AgentBusy")
      })
  )

  it.effect("the dispatches of two tenants wait in different keys", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const { a, b } = pair(Samples.operations)
      const requests = [a.task(), a.task(), b.task(), b.task()]
      for (const request of requests) yield* accept(request)
      const heads = [requests[0]!.message_id, requests[2]!.message_id]
      const claim = {
        owner: Samples.unique("relay"),
        topics: [dispatched_topic],
        agents: [Samples.operations],
        limit: 500,
        lease_ms: 600_000
      }
      const found = new Set<string>()
      for (;;) {
        const messages = yield* outbox.claim(claim)
        for (const { id } of messages) found.add(id)
        if (messages.length === 0) break
      }
      assert.deepStrictEqual(
        requests.map(({ message_id }) => found.has(message_id)),
        requests.map(({ message_id }) => heads.includes(message_id))
      )
    })
  )
}

const accepting = (it: Vitest.MethodsNonLive<Needs>) => {
  sharedIdTests(it)
  mailboxTests(it)
}

const running = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("runs, answers and history of two tenants stay separate", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const conversations = yield* ConversationStore
      const { a, b, conversation } = pair(Samples.operations)
      const given = ({ address, tenant }: typeof a) => ({ address, conversation, tenant })
      const openB = yield* Samples.begin(given(b))
      const endedA = yield* Samples.begin(given(a), [Samples.modelTurned(1)])
      yield* journal.append(endedA.next(Samples.runEnded({ text: "a's answer" })))
      const openA = yield* Samples.begin(given(a))
      const unfinished = (of: typeof a) =>
        Effect.map(reader.unfinished(of.tenant, of.address, 10), (heads) =>
          heads.map(({ run_id, tenant }) => [run_id, tenant])
        )
      assert.deepStrictEqual(yield* unfinished(a), [[openA.run, a.tenant]])
      assert.deepStrictEqual(yield* unfinished(b), [[openB.run, b.tenant]])
      // The first run of B does not delay the second run of A.
      const heads = yield* ownership.recoverable(Samples.unique("heir"), [a.address.agent], 10_000)
      const found = heads.map(({ run_id }) => run_id)
      assert.includeMembers(found, [openA.run, openB.run])
      const before = (tenant: Tenant) =>
        Effect.map(tasks.endedBefore(tenant, conversation, 10, 10), (all) =>
          all.map(({ id }) => id)
        )
      assert.deepStrictEqual(yield* before(a.tenant), [endedA.run])
      assert.deepStrictEqual(yield* before(b.tenant), [])
      const messagesOf = (tenant: Tenant) =>
        Effect.map(conversations.messages(tenant, conversation, -1, 10), (page) =>
          page.map(({ content, role, seq }) => [seq, role, content])
        )
      assert.deepStrictEqual(yield* messagesOf(a.tenant), [
        [0, "user", endedA.task.message],
        [1, "assistant", "a's answer"],
        [2, "user", openA.task.message]
      ])
      assert.deepStrictEqual(yield* messagesOf(b.tenant), [[0, "user", openB.task.message]])
    })
  )

  it.effect("answers of two tenants that are written at once go to their own conversations", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const conversations = yield* ConversationStore
      const { a, b, conversation } = pair()
      const begun = yield* Effect.forEach([a, b, a, b], ({ address, tenant }) =>
        Samples.begin({ address, conversation, tenant }, [Samples.modelTurned(1)])
      )
      yield* Effect.forEach(
        begun,
        ({ next, task }, i) =>
          journal.append(next(Samples.runEnded({ text: `${task.tenant} ${i}` }))),
        { concurrency: "unbounded" }
      )
      for (const { tenant } of [a, b]) {
        const page = yield* conversations.messages(tenant, conversation, -1, 10)
        assert.deepStrictEqual(
          page.map(({ role, seq }) => [seq, role]),
          [
            [0, "user"],
            [1, "user"],
            [2, "assistant"],
            [3, "assistant"]
          ]
        )
        for (const { content } of page.slice(2)) assert.isTrue(content.startsWith(tenant))
      }
    })
  )
}

export const tenantsTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  accepting(it)
  running(it)
}
