/** Tasks that are the first of their conversation, or follow its newest one, or are none. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { NewTask } from "../../services/TaskStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import * as Samples from "./Samples.ts"

const accept = (task: NewTask) => Effect.flatMap(TaskStore, (tasks) => tasks.accept(task))

export const firstTaskTests = (it: Vitest.MethodsNonLive<TaskStore>): void => {
  it.effect("a task that has to begin its conversation is refused where there is such a one", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const key = Samples.unique("key")
      const begins = (more: Partial<NewTask>) => Samples.newTask({ must_begin: true, ...more })
      const first = begins({ idempotency_key: key, waiting_max: 1 })
      assert.isTrue((yield* accept(first)).created)
      const { conversation } = first
      const late = begins({ conversation })
      assert.strictEqual((yield* Effect.flip(accept(late)))._tag, "AddressConflict")
      assert.isUndefined(yield* tasks.get(late.id))
      // The same one is known, and others follow it.
      const again = { ...first, id: Samples.runId(), message_id: Samples.messageId() }
      assert.isFalse((yield* accept(again)).created)
      assert.strictEqual((yield* accept(Samples.newTask({ conversation }))).task.ordinal, 2)
      const other = Samples.unique("conversation") as typeof conversation
      const atOnce = yield* Effect.forEach(
        [1, 2, 3, 4],
        () => Effect.result(accept(begins({ conversation: other }))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(atOnce.filter(Result.isSuccess), 1)
      assert.lengthOf(yield* tasks.ofConversation(first.tenant, other, 0, 10), 1)
    })
  )
  it.effect("a task that begins its conversation is accepted, whatever waits at its address", () =>
    Effect.gen(function* () {
      const before = Samples.newTask()
      yield* accept(before)
      const first = Samples.newTask({
        address: before.address,
        conversation: Samples.unique("conversation") as typeof before.conversation,
        must_begin: true,
        waiting_max: 1,
        reject_when_busy: true
      })
      assert.isTrue((yield* accept(first)).created)
    })
  )
  it.effect("of tasks that follow the newest one at the same time one is accepted", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const first = Samples.newTask()
      yield* accept(first)
      const { conversation, tenant } = first
      const next = (after: number, more: Partial<NewTask> = {}) =>
        Samples.newTask({ conversation, after, ...more })
      const atOnce = yield* Effect.forEach(
        [1, 2, 3, 4],
        () => Effect.result(accept(next(1, { idempotency_key: Samples.unique("key") }))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        atOnce.flatMap((result) => (Result.isFailure(result) ? [result.failure._tag] : [])),
        ["AgentBusy", "AgentBusy", "AgentBusy"]
      )
      for (const after of [0, 1, 3]) {
        assert.strictEqual((yield* Effect.flip(accept(next(after))))._tag, "AgentBusy")
      }
      assert.lengthOf(yield* tasks.ofConversation(tenant, conversation, 0, 10), 2)
      const key = Samples.unique("key")
      assert.strictEqual((yield* accept(next(2, { idempotency_key: key }))).task.ordinal, 3)
      // A known key finds its task, whatever has come since.
      const again = yield* accept(next(2, { idempotency_key: key }))
      assert.deepStrictEqual([again.created, again.task.ordinal], [false, 3])
    })
  )
  it.effect("tasks are found by what was posted, newest first, in their tenant alone", () =>
    Effect.gen(function* () {
      const tasks = yield* TaskStore
      const posted = (sample: string) => sample.repeat(64).slice(0, 64)
      const tenant = Samples.tenant()
      const of = (more: Partial<NewTask>) =>
        Samples.newTask({ tenant, posted: posted("a"), ...more })
      const first = of({ context: { posted: posted("c") } })
      const second = of({ span_id: "0123456789abcdef" })
      for (const task of [first, second, of({ posted: posted("b") }), of({ posted: undefined })]) {
        yield* accept(task)
        yield* Effect.sleep(2)
      }
      const found = (digest: string, limit = 10, whose = tenant) =>
        Effect.map(tasks.posted(whose, posted(digest), limit), (all) => all.map(({ id }) => id))
      assert.deepStrictEqual(yield* found("a"), [second.id, first.id])
      assert.deepStrictEqual(yield* found("a", 1), [second.id])
      assert.deepStrictEqual(yield* found("c"), [])
      assert.deepStrictEqual(yield* found("a", 10, Samples.tenant()), [])
      assert.notInclude(JSON.stringify(yield* tasks.get(second.id)), posted("a"))
    })
  )
}
