/** Conversations and their messages, as a tenant reads them. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { ConversationQuery } from "../../services/ConversationStore.ts"
import { ConversationStore, looked_max } from "../../services/ConversationStore.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { ConversationItem } from "../../src/conversation/Conversation.ts"
import { cancelRun } from "../../src/run/RunCommand.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { contract } from "./Contract.ts"
import * as Samples from "./Samples.ts"
import { isFull } from "../Long.ts"

type Needs = ConversationStore | TaskStore | RunPorts

const accept = (task: NewTask) => Effect.flatMap(TaskStore, (tasks) => tasks.accept(task))

/** All of a list, two at a time. */
const paged = Effect.fnUntraced(function* (query: Omit<ConversationQuery, "limit">) {
  const { list } = yield* ConversationStore
  const found: Array<ConversationItem> = []
  let after: string | undefined
  do {
    const { items, next } = yield* list({ ...query, limit: 2, after })
    found.push(...items)
    after = next
  } while (after !== undefined)
  return found
})

const idsOf = (items: ReadonlyArray<ConversationItem>): ReadonlyArray<string> =>
  items.map(({ id }) => id)

const listTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a tenant sees its own conversations, those active last first, in pages", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const made: Array<string> = []
      for (let i = 0; i < 3; i++) {
        made.unshift((yield* accept(Samples.newTask({ tenant }))).task.conversation)
        yield* Effect.sleep("3 millis")
      }
      const all = (yield* conversations.list({ tenant, limit: 500 })).items
      assert.deepStrictEqual(idsOf(all), made)
      const page = yield* conversations.list({ tenant, limit: 1, after: all[0]!.cursor })
      assert.deepStrictEqual(page, { items: [all[1]!], next: all[1]!.cursor })
      assert.deepStrictEqual(yield* conversations.list({ tenant: other, limit: 500 }), {
        items: []
      })
      assert.isUndefined(yield* conversations.get(other, all[0]!.id))
      assert.isUndefined(yield* conversations.read(other, all[0]!.id))
      const { address, begun_by, created_at, id, initiated_by } = all[0]!
      assert.deepStrictEqual(yield* conversations.read(tenant, id), {
        id,
        tenant,
        address,
        initiated_by,
        begun_by: begun_by!,
        created_at
      })
      assert.deepStrictEqual(yield* conversations.messages(other, id, -1, 10), [])
      // The oldest one is written in, and is the first.
      const conversation = all[2]!.id
      yield* accept(Samples.newTask({ tenant, conversation }))
      const again = (yield* conversations.list({ tenant, limit: 500 })).items
      assert.deepStrictEqual(idsOf(again), [made[2]!, made[0]!, made[1]!])
      // Whoever had read the first one reads on, and sees no other twice.
      const rest = yield* conversations.list({ tenant, limit: 500, after: all[0]!.cursor })
      assert.deepStrictEqual(idsOf(rest.items), [made[1]!])
    })
  )

  it.effect("pages leave out none of the conversations of the same millisecond", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const tenant = Samples.tenant()
      yield* Effect.forEach(Array.from({ length: 21 }), () => accept(Samples.newTask({ tenant })), {
        concurrency: "unbounded",
        discard: true
      })
      const { items: all } = yield* conversations.list({ tenant, limit: 500 })
      assert.lengthOf(all, 21)
      for (const begun_by of [undefined, all[0]!.begun_by]) {
        assert.deepStrictEqual(yield* paged({ tenant, begun_by }), all)
      }
    })
  )

  it.effect("a conversation keeps who began it, and is listed by that", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const tenant = Samples.tenant()
      const names = ["carl", 'co"ra\u0000', "carl"]
      for (const by of names) {
        const { task } = yield* accept(Samples.newTask({ tenant, by }))
        const { address, conversation } = task
        yield* accept(Samples.newTask({ tenant, by: "somebody else", address, conversation }))
        const found = yield* conversations.get(tenant, conversation)
        assert.strictEqual(found?.begun_by, by)
        yield* Effect.sleep("3 millis")
      }
      for (const by of names) {
        const listed = yield* paged({ tenant, begun_by: by })
        assert.isTrue(listed.every(({ begun_by }) => begun_by === by))
        assert.lengthOf(listed, names.filter((name) => name === by).length)
      }
      assert.deepStrictEqual(yield* paged({ tenant, begun_by: "somebody else" }), [])
    })
  )
}

const drawnTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a list says title, metadata, last message, count and status of each", () =>
    Effect.gen(function* () {
      const { list } = yield* ConversationStore
      const tenant = Samples.tenant()
      const one = Effect.map(list({ tenant, limit: 5 }), ({ items }) => items[0]!)
      const message = `"Where\\ is it?\u0000\n${"\u{1f600}".repeat(3_000)}`
      const { conversation } = (yield* accept(
        Samples.newTask({
          tenant,
          message,
          title: 'It\'s "here"',
          metadata: { plan: "gold\u0000" }
        })
      )).task
      const begun = yield* one
      assert.deepInclude(begun, {
        title: 'It\'s "here"',
        metadata: { plan: "gold\u0000" },
        status: "pending",
        messages: 1
      })
      assert.strictEqual(begun.last_message?.role, "user")
      assert.isTrue(begun.last_message?.text.startsWith('"Where\\ is it?\u0000\n\u{1f600}'))
      assert.isAtMost(begun.last_message!.text.length, 200)
      assert.isTrue(begun.last_message!.text.isWellFormed())
      assert.strictEqual(begun.active_at, begun.created_at)
      yield* Effect.sleep("3 millis")
      const asked = yield* Samples.finish(
        { tenant, title: "other", metadata: { other: "y" } },
        { text: "It is here.", finish: "length", status: "failed", reason: "secret words" }
      )
      const { items } = yield* list({ tenant, limit: 5 })
      assert.deepStrictEqual(idsOf(items), [asked.task.conversation, conversation])
      assert.deepInclude(items[0], { status: "idle", messages: 2, title: "other" })
      assert.deepInclude(items[0]?.last_message, { role: "assistant", text: "It is here." })
      assert.isAbove(items[0]!.active_at, begun.active_at)
      yield* Effect.sleep("3 millis")
      // What a further message says of the conversation changes nothing.
      yield* accept(Samples.newTask({ tenant, conversation, title: "no", metadata: {} }))
      const { messages, metadata, title } = yield* one
      assert.deepStrictEqual([messages, metadata, title], [2, begun.metadata, begun.title])
    })
  )

  it.effect("the status is that of the oldest run that is not over", () =>
    Effect.gen(function* () {
      const { list } = yield* ConversationStore
      const tenant = Samples.tenant()
      const status = Effect.map(list({ tenant, limit: 5 }), ({ items }) => items[0]?.status)
      const { conversation } = (yield* Samples.finish({ tenant })).task
      assert.strictEqual(yield* status, "idle")
      const asking = yield* Samples.begin({ tenant, conversation }, [
        Samples.modelTurned(1, 1),
        Samples.approvalRequested()
      ])
      assert.strictEqual(yield* status, "awaiting_approval")
      yield* accept(Samples.newTask({ tenant, conversation }))
      assert.strictEqual(yield* status, "awaiting_approval")
      yield* RunJournal.use((journal) =>
        journal.amend(asking.run, (state) => cancelRun(state, asking.run, "ada", "enough"))
      )
      assert.strictEqual(yield* status, "pending")
      yield* Effect.sleep("3 millis")
      yield* Samples.begin({ tenant })
      assert.strictEqual(yield* status, "processing")
    })
  )

  it.effect("title and metadata are changed, each alone, of the tenant's own conversations", () =>
    Effect.gen(function* () {
      const { change, list } = yield* ConversationStore
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const { conversation: id } = (yield* accept(Samples.newTask({ tenant, title: "a" }))).task
      const item = Effect.map(list({ tenant, id, limit: 1 }), ({ items }) => items[0])
      assert.isTrue(yield* change(tenant, id, { title: 'b"' }))
      assert.deepInclude(yield* item, { title: 'b"' })
      assert.isTrue(yield* change(tenant, id, { metadata: { a: "1" } }))
      assert.isTrue(yield* change(tenant, id, {}))
      assert.deepInclude(yield* item, { title: 'b"', metadata: { a: "1" } })
      assert.isFalse(yield* change(other, id, { title: "c" }))
      assert.isFalse(yield* change(tenant, ConversationId.make("none"), { title: "c" }))
      assert.deepInclude(yield* item, { title: 'b"' })
      assert.deepStrictEqual(yield* list({ tenant: other, id, limit: 1 }), { items: [] })
    })
  )
}

const searchTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a search finds words in titles and in what was said, and no others", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const own = { tenant, by: "carl" }
      const titled = (yield* Samples.finish({ ...own, title: 'The "Blue" Lamp' })).task
      yield* Effect.sleep("3 millis")
      const said = (yield* Samples.finish(
        { ...own, message: "my lamp\nis 100% broken_" },
        { text: "Sorry!", status: "failed", reason: "hidden" }
      )).task
      const foreign = (yield* Samples.finish({ tenant, by: "cora", title: "lamp" })).task
      yield* Samples.finish({ tenant: Samples.tenant(), title: "lamp" })
      const found = (words: ReadonlyArray<string>, begun_by?: string) =>
        Effect.map(paged({ tenant, words, begun_by }), idsOf)
      const [a, b, c] = [titled.conversation, said.conversation, foreign.conversation]
      assert.sameMembers([...(yield* found(["LAMP"]))], [a, b, c])
      assert.deepStrictEqual(yield* found(["lamp"], "carl"), [b, a])
      assert.deepStrictEqual(yield* found(['"blue"', "lamp"], "carl"), [a])
      assert.deepStrictEqual(yield* found(["100%", "broken_", "sorry"]), [b])
      for (const words of [["lamps"], ["lamp", "green"], ["hidden"], ["content"], ["%"], ["\\"]]) {
        const expected = words[0] === "%" ? [b] : []
        assert.deepStrictEqual(yield* found(words, "carl"), expected, words.join(" "))
      }
    })
  )

  if (isFull) {
    it.effect("a search that looked at many conversations says where to go on", () =>
      Effect.gen(function* () {
        const { list } = yield* ConversationStore
        const tenant = Samples.tenant()
        const { conversation } = (yield* accept(Samples.newTask({ tenant, title: "needle" }))).task
        yield* Effect.sleep("3 millis")
        yield* Effect.forEach(
          Array.from({ length: looked_max }),
          () => accept(Samples.newTask({ tenant, title: "hay" })),
          { concurrency: 100, discard: true }
        )
        const words = ["needle"]
        const first = yield* list({ tenant, limit: 10, words })
        assert.deepStrictEqual(first.items, [])
        const second = yield* list({ tenant, limit: 10, words, after: first.next })
        assert.deepStrictEqual(idsOf(second.items), [conversation])
        assert.isUndefined(second.next)
        const hay = yield* list({ tenant, limit: 500, words: ["hay"] })
        assert.lengthOf(hay.items, 500)
        assert.isDefined(hay.next)
      })
    )
  }
}

export const conversationStoreTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  listTests(it)
  drawnTests(it)
  searchTests(it)
  branchTests(it)
  importTests(it)

  it.effect("messages are read in pages", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const { task } = yield* Samples.finish()
      const { conversation, tenant } = task
      yield* Samples.finish({ conversation })
      const seqs = (after: number, limit: number) =>
        Effect.map(conversations.messages(tenant, conversation, after, limit), (page) =>
          page.map((message) => [message.seq, message.role])
        )
      assert.deepStrictEqual(yield* seqs(-1, 3), [
        [0, "user"],
        [1, "assistant"],
        [2, "user"]
      ])
      assert.deepStrictEqual(yield* seqs(2, 500), [[3, "assistant"]])
      assert.deepStrictEqual(yield* seqs(3, 500), [])
    })
  )
}

const importTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("an imported exchange has both of its messages when it is accepted", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const of = (answer: string) => ({ imported: { answer, by: "olga", digest: "d" } })
      const first = Samples.newTask({ ...of('a "\u0000'), message: "" })
      const { conversation, tenant } = first
      const { created, task } = yield* accept(first)
      assert.isTrue(created)
      assert.deepInclude(task, of('a "\u0000'))
      yield* accept(Samples.newTask({ ...of(""), conversation, tenant, message: "b" }))
      yield* accept(Samples.newTask({ ...of("d"), conversation, tenant, message: "c" }))
      yield* accept(Samples.newTask({ conversation, tenant, message: "e" }))
      const page = yield* conversations.messages(tenant, conversation, -1, 500)
      assert.deepStrictEqual(
        page.map(({ content, role, seq }) => [seq, role, content]),
        [
          [0, "user", ""],
          [1, "assistant", 'a "\u0000'],
          [2, "user", "b"],
          [3, "user", "c"],
          [4, "assistant", "d"],
          [5, "user", "e"]
        ]
      )
      const { items } = yield* conversations.list({ tenant, limit: 1, id: conversation })
      assert.strictEqual(items[0]?.messages, 6)
    })
  )
}

const branchTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("tasks that stand in place of others are listed, newest first", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const first = yield* Samples.finish()
      const { conversation, tenant } = first.task
      const second = yield* Samples.finish({ conversation })
      const places = [
        { replaces: first.run, after: 0 },
        { replaces: second.run, after: 1 }
      ]
      // A text of an application is not one, whatever it says.
      yield* Samples.finish({ conversation, context: { said: '{"branch":{"replaces":"x"}}' } })
      for (const branch of places) yield* Samples.finish({ conversation, branch })
      const listed = yield* tasks.branches(tenant, conversation)
      assert.deepStrictEqual(
        listed.map(({ branch, ordinal }) => [ordinal, branch]),
        [
          [5, places[1]],
          [4, places[0]]
        ]
      )
      assert.deepStrictEqual(yield* tasks.branches(Samples.tenant(), conversation), [])
    })
  )

  it.effect("messages of other branches are left out, or marked", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const { task } = yield* Samples.finish()
      const { conversation, tenant } = task
      for (let n = 0; n < 3; n++) yield* Samples.finish({ conversation })
      const current = [
        { first: 4, last: 4 },
        { first: 1, last: 2 }
      ]
      const listed = (others: boolean, after: number, limit: number) =>
        Effect.map(
          conversations.messages(tenant, conversation, after, limit, { current, others }),
          (page) => page.map(({ seq, superseded }) => (superseded === true ? -seq : seq))
        )
      assert.deepStrictEqual(yield* listed(false, -1, 500), [0, 1, 2, 3, 6, 7])
      assert.deepStrictEqual(yield* listed(false, 2, 2), [3, 6])
      assert.deepStrictEqual(yield* listed(true, 2, 500), [3, -4, -5, 6, 7])
    })
  )
}

export const conversationStoreContract = contract("ConversationStore", conversationStoreTests)
