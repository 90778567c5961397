/** Who has a run, and which runs nobody has. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { RunJournal } from "../../services/RunJournal.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/Ids.ts"
import { eventually } from "./Contract.ts"
import * as Samples from "./Samples.ts"

type Needs = RunJournal | TaskStore

export const recoveryTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  const every = 100_000
  const recoverable = (owner: string) =>
    Effect.flatMap(RunJournal, (journal) => journal.recoverable(owner, every))
  const has = (run: RunId) => (heads: ReadonlyArray<{ readonly run_id: RunId }>) =>
    heads.some((head) => head.run_id === run)

  it.effect("a run of a living owner is recoverable by that owner alone, until it lets go", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const [a, b] = [Samples.unique("a"), Samples.unique("b")]
      yield* journal.beat(a, 600_000)
      const { run } = yield* Samples.begin({}, [], a)
      assert.strictEqual((yield* journal.head(run)).owner, a)
      assert.isFalse(has(run)(yield* recoverable(b)))
      assert.isTrue(has(run)(yield* recoverable(a)))
      yield* journal.release(a)
      assert.isUndefined((yield* journal.head(run)).owner)
      assert.isTrue(has(run)(yield* recoverable(b)))
    })
  )

  it.effect("a lease that is not renewed ends", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const a = Samples.unique("a")
      yield* journal.beat(a, 600_000)
      const { run } = yield* Samples.begin({}, [], a)
      assert.isFalse(has(run)(yield* recoverable("b")))
      yield* journal.beat(a, 1)
      yield* eventually(recoverable("b"), has(run))
    })
  )

  it.effect("runs that nobody has are recoverable, oldest first, ended ones are not", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const task = Samples.newTask()
      yield* journal.create(task.id, 1, Samples.runAccepted(task))
      const claimed = yield* Samples.begin()
      const parked = yield* Samples.begin({}, [
        Samples.modelTurned(1, 1),
        Samples.approvalRequested()
      ])
      const ended = yield* Samples.finish()
      const found = yield* recoverable("b")
      assert.isTrue(has(task.id)(found))
      assert.isTrue(has(claimed.run)(found))
      // Beside its question other work may have been on its way when its owner died.
      assert.isTrue(has(parked.run)(found))
      assert.isFalse(has(ended.run)(found))
      for (let i = 1; i < found.length; i++) {
        assert.isAtLeast(found[i]!.created_at, found[i - 1]!.created_at)
      }
      assert.strictEqual((yield* journal.recoverable("b", 1)).length, 1)
    })
  )

  it.effect(
    "a run that awaits a person is not recoverable while its owner lives, not by the owner either",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const a = Samples.unique("a")
        yield* journal.beat(a, 600_000)
        const asking = [Samples.modelTurned(1, 1), Samples.approvalRequested()]
        const { run } = yield* Samples.begin({}, asking, a)
        assert.isFalse(has(run)(yield* recoverable(a)))
        assert.isFalse(has(run)(yield* recoverable("b")))
        yield* journal.release(a)
        assert.isTrue(has(run)(yield* recoverable("b")))
      })
  )

  it.effect("unfinished runs of an address come by ordinal and without the ended ones", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const tasks = yield* TaskStore
      const first = yield* Samples.finish()
      const { address, conversation } = first.task
      const second = yield* tasks.accept(Samples.newTask({ conversation }))
      const third = yield* tasks.accept(Samples.newTask({ conversation }))
      yield* journal.create(third.task.id, third.task.ordinal, Samples.runAccepted(third.task))
      yield* journal.create(second.task.id, second.task.ordinal, Samples.runAccepted(second.task))
      const heads = yield* journal.unfinished(address, 10)
      assert.deepStrictEqual(
        heads.map((head) => [head.run_id, head.ordinal]),
        [
          [second.task.id, 2],
          [third.task.id, 3]
        ]
      )
      assert.strictEqual((yield* journal.unfinished(address, 1))[0]?.run_id, second.task.id)
      const other = Samples.newTask().address
      assert.deepStrictEqual(yield* journal.unfinished(other, 10), [])
    })
  )
}
