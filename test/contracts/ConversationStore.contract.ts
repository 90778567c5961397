/** Conversations and their messages, as a tenant reads them. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { Conversation } from "../../src/conversation/Conversation.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { contract } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = ConversationStore | TaskStore | RunPorts

const accept = (task: NewTask) => Effect.flatMap(TaskStore, (tasks) => tasks.accept(task))

export const conversationStoreTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a tenant sees its own conversations, newest first, in pages", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const made: Array<string> = []
      for (let i = 0; i < 3; i++) {
        made.unshift((yield* accept(Samples.newTask({ tenant }))).task.conversation)
        yield* Effect.sleep("3 millis")
      }
      const all = yield* conversations.list(tenant, 500)
      assert.deepStrictEqual(
        all.map((conversation) => conversation.id as string),
        made
      )
      const page = yield* conversations.list(tenant, 1, all[0]!.id)
      assert.deepStrictEqual(page, [all[1]!])
      assert.deepStrictEqual(yield* conversations.list(other, 500), [])
      for (const [whose, after] of [
        [other, all[0]!.id],
        [tenant, ConversationId.make("unknown")]
      ] as const) {
        assert.deepStrictEqual(yield* conversations.list(whose, 500, after), [])
      }
      assert.isUndefined(yield* conversations.get(other, all[0]!.id))
      assert.isUndefined(yield* conversations.read(other, all[0]!.id))
      assert.deepStrictEqual(yield* conversations.read(tenant, all[0]!.id), all[0]!)
      assert.deepStrictEqual(yield* conversations.messages(other, all[0]!.id, -1, 10), [])
    })
  )

  it.effect("pages leave out none of the conversations that began in the same millisecond", () =>
    Effect.gen(function* () {
      const conversations = yield* ConversationStore
      const tenant = Samples.tenant()
      yield* Effect.forEach(Array.from({ length: 21 }), () => accept(Samples.newTask({ tenant })), {
        concurrency: "unbounded",
        discard: true
      })
      const all = yield* conversations.list(tenant, 500)
      assert.lengthOf(all, 21)
      for (const begun_by of [undefined, all[0]!.begun_by]) {
        const paged: Array<Conversation> = []
        for (;;) {
          const page = yield* conversations.list(tenant, 2, paged.at(-1)?.id, begun_by)
          paged.push(...page)
          if (page.length < 2) break
        }
        assert.deepStrictEqual(paged, all)
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
        const listed = yield* conversations.list(tenant, 500, undefined, by)
        assert.isTrue(listed.every(({ begun_by }) => begun_by === by))
        assert.lengthOf(listed, names.filter((name) => name === by).length)
      }
      const [first, second] = yield* conversations.list(tenant, 500, undefined, "carl")
      const page = yield* conversations.list(tenant, 1, first!.id, "carl")
      assert.deepStrictEqual(page, [second!])
      assert.deepStrictEqual(yield* conversations.list(tenant, 500, undefined, "somebody else"), [])
    })
  )

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

export const conversationStoreContract = contract("ConversationStore", conversationStoreTests)
