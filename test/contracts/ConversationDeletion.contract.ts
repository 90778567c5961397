/** Deletions of one conversation: from every store, with nothing of another one, never below a run under way, and repeatable. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { LoopStore } from "../../services/semstreams/LoopStore.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import type { Stores } from "../../services/Stores.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { isErased } from "../../src/replay/Erased.ts"
import { cancelRun } from "../../src/run/RunCommand.ts"
import type { ConversationId, Tenant } from "../../src/value/Ids.ts"
import { ConversationId as Id } from "../../src/value/Ids.ts"
import * as Samples from "./Samples.ts"
import { canary, erase, left, lived } from "./SubjectErasure.contract.ts"

const remove = (tenant: Tenant, conversation: ConversationId) =>
  SubjectErasure.use((erasure) => erasure.eraseConversation({ tenant, conversation, by: "carl" }))

const idsOf = (tenant: Tenant, words?: ReadonlyArray<string>) =>
  Effect.map(
    ConversationStore.use((store) => store.list({ tenant, limit: 50, words })),
    ({ items }) => items.map(({ id }) => id)
  )

const everywhere = Effect.fnUntraced(function* () {
  const tenant = Samples.tenant()
  // The id is a word that stands in what others said.
  const conversation = Id.make("text")
  const more = { conversation, title: canary, metadata: { canary } }
  const mine = yield* lived(tenant, "carl", canary, more)
  const other = yield* lived(tenant, "carl", "another text")
  const foreign = yield* lived(Samples.tenant(), "carl", canary, more)
  const others = [yield* left(other.task), yield* left(foreign.task)]
  yield* remove(tenant, conversation)
  assert.deepStrictEqual([yield* left(other.task), yield* left(foreign.task)], others)
  assert.deepStrictEqual(yield* idsOf(tenant), [other.task.conversation])
  assert.deepStrictEqual(yield* idsOf(tenant, ["canary"]), [])
  const gone = yield* left(mine.task)
  assert.deepInclude(gone, { conversation: undefined, messages: [], approvals: [], records: [] })
  assert.deepInclude(gone, { bindings: [], loop: undefined })
  assert.isTrue(isErased(gone.task?.message) && isErased(gone.task?.by))
  assert.notInclude(JSON.stringify(gone.entries), "\u6771\u4eac")
  // Nothing else of it stands anywhere: what is found is the file that its sender uploaded apart from it.
  const again = yield* erase(tenant, canary)
  assert.deepStrictEqual(again.erased, {})
  assert.deepStrictEqual(
    again.found.filter(({ table }) => table !== "blobs"),
    []
  )
  const [, record] = yield* SubjectErasure.use((all) => all.list({ tenant, limit: 5 }))
  assert.deepInclude(record, { of: "conversation", by: "carl", tenant })
  assert.isDefined(record?.ended_at)
  assert.isAtLeast(record!.erased["run_events"]!, 5)
  assert.notInclude(JSON.stringify(record), '"text"')
})

/** A conversation of a customer with a fork of its run by somebody else, and a fork of another conversation's. */
const forks = Effect.fnUntraced(function* (text: string) {
  const tenant = Samples.tenant()
  const { task } = yield* Samples.finish({ tenant, message: "first", by: "carl" })
  const { conversation, id: run } = task
  const forked = { sender: "carl", conversation, run, step: "0/1" }
  const given = { tenant, by: "olga", message: text, title: text }
  const fork = yield* Samples.finish({ ...given, forked })
  const other = yield* Samples.finish({
    ...given,
    // Its context says what a fork of the conversation would say.
    context: { forked },
    forked: { ...forked, sender: "paul", conversation: Id.make("another") }
  })
  return { tenant, task, fork: fork.task, other: other.task }
})

/** Is the text of the fork still anywhere? */
const says = (task: Parameters<typeof left>[0]) =>
  Effect.map(left(task), (all) => JSON.stringify(all).includes(JSON.stringify(canary).slice(1, -1)))

export const conversationDeletionTests = (it: Vitest.MethodsNonLive<LoopStore | Stores>): void => {
  it.effect("a deleted conversation is erased from every store, and nothing of another one", () =>
    everywhere()
  )

  it.effect("a deleted conversation is not found again, and its id begins another one", () =>
    Effect.gen(function* () {
      const [tenant, other] = [Samples.tenant(), Samples.tenant()]
      const conversation = Id.make("mine")
      yield* Samples.finish({ tenant, conversation })
      const missing = { _tag: "ConversationNotFound", id: "mine" } as const
      assert.deepInclude(yield* Effect.flip(remove(other, conversation)), missing)
      yield* remove(tenant, conversation)
      assert.deepInclude(yield* Effect.flip(remove(tenant, conversation)), missing)
      const { change } = yield* ConversationStore
      assert.isFalse(yield* change(tenant, conversation, { title: "a" }))
      const { task } = yield* TaskStore.use((tasks) =>
        tasks.accept(Samples.newTask({ tenant, conversation, message: "anew" }))
      )
      assert.strictEqual(task.ordinal, 1)
      const { items } = yield* ConversationStore.use((store) => store.list({ tenant, limit: 5 }))
      assert.deepInclude(items[0], { id: conversation, messages: 1 })
      assert.lengthOf(items, 1)
    })
  )

  it.effect(
    "a conversation with a run that waits for a person is not deleted, and stays whole",
    () =>
      Effect.gen(function* () {
        const tenant = Samples.tenant()
        const { conversation } = (yield* Samples.finish({ tenant, message: "first" })).task
        const asking = yield* Samples.begin({ tenant, conversation }, [
          Samples.modelTurned(1, 1),
          Samples.approvalRequested()
        ])
        const before = yield* left(asking.task)
        const refused = yield* Effect.flip(remove(tenant, conversation))
        assert.deepInclude(refused, { _tag: "SubjectIsActive", runs: [asking.run] })
        assert.deepStrictEqual(yield* left(asking.task), before)
        assert.deepStrictEqual(
          yield* SubjectErasure.use((all) => all.list({ tenant, limit: 5 })),
          []
        )
        yield* RunJournal.use((journal) =>
          journal.amend(asking.run, (state) => cancelRun(state, asking.run, "ada", "enough"))
        )
        yield* remove(tenant, conversation)
        assert.deepStrictEqual(yield* idsOf(tenant), [])
      })
  )

  it.effect("of two deletions at once one erases, and the other finds nothing or the same", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const { conversation } = (yield* Samples.finish({ tenant })).task
      const ends = yield* Effect.all(
        [1, 2].map(() => Effect.result(remove(tenant, conversation))),
        { concurrency: "unbounded" }
      )
      assert.isTrue(ends.some(({ _tag }) => _tag === "Success"))
      assert.deepStrictEqual(yield* idsOf(tenant), [])
    })
  )

  it.effect("the forks of its runs are erased with a conversation, and no other", () =>
    Effect.gen(function* () {
      const { fork, other, task, tenant } = yield* forks(canary)
      yield* remove(tenant, task.conversation)
      assert.deepStrictEqual(yield* idsOf(tenant), [other.conversation])
      assert.isFalse(yield* says(fork))
      assert.isTrue(yield* says(other))
    })
  )

  it.effect("the forks of a subject's runs are erased with the subject, and no other", () =>
    Effect.gen(function* () {
      const { fork, other, tenant } = yield* forks(canary)
      assert.deepStrictEqual((yield* erase(tenant, "carl")).found, [])
      assert.isFalse(yield* says(fork))
      assert.isTrue(yield* says(other))
      const { items } = yield* ConversationStore.use((store) => store.list({ tenant, limit: 5 }))
      assert.deepStrictEqual(
        items.flatMap(({ title }) => title ?? []),
        [canary]
      )
    })
  )
}
