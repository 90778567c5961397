/** What a journal gives to its listeners of what it has committed. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Result } from "effect"
import type { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import type { ConversationStore } from "../../services/ConversationStore.ts"
import type { Outbox } from "../../services/Outbox.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import type { Committed } from "../../services/RunNews.ts"
import { RunNews } from "../../services/RunNews.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { cancelRun } from "../../src/run/RunCommand.ts"
import type { JournalEntry, RunEvent } from "../../src/run/RunEvent.ts"
import * as Samples from "./Samples.ts"

type Needs = RunPorts | TaskStore | ConversationStore | ApprovalRecords | Outbox

/** Listens to one run, from before it is begun. */
const listening = Effect.fnUntraced(function* (run: RunId) {
  const news = yield* RunNews
  const told: Array<Committed> = []
  yield* news.onCommitted({
    accepts: (each) => each === run,
    onCommitted: (committed) => void told.push(committed)
  })
  const entries = (): ReadonlyArray<JournalEntry> => told.flatMap((each) => each.entries() ?? [])
  return { told, entries }
})

/** The same values, with their members in the same order. */
const assertSame = (told: ReadonlyArray<JournalEntry>, read: ReadonlyArray<JournalEntry>) => {
  assert.deepStrictEqual(told, read)
  assert.strictEqual(JSON.stringify(told), JSON.stringify(read))
}

/** Members in an order of their own, one that is undefined, and texts that JSON escapes. */
const odd: RunEvent = {
  finish: "tool_calls",
  step: 1,
  text: "ü\u0000\u2028\ud800 \u{1f600}",
  model: "scripted",
  calls: [Samples.proposedCall()],
  frame: Samples.modelTurned(1).frame,
  _tag: "ModelTurned"
}

export const committedTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a listener gets of every method what a reader of the journal gets", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const reader = yield* RunReader
        const ownership = yield* RunOwnership
        const task = Samples.newTask()
        const run = task.id
        const { entries, told } = yield* listening(run)
        const begun = yield* Samples.begin(task, [odd], "a")
        yield* journal.transact(run, begun.fence, Effect.void, () =>
          begun.next(Samples.callSettled(undefined, { _tag: "Value", json: '{"b":1,"a":"ü"}' }))
        )
        yield* ownership.claim(run, "b")
        yield* journal.amend(run, (state) => cancelRun(state, run, "ada", "enough"))
        const read = yield* reader.read(run, 0, 100)
        assert.isAbove(read.length, 5)
        assertSame(entries(), read)
        assert.strictEqual(
          told.reduce((count, each) => count + each.count, 0),
          read.length
        )
        for (const each of told) assert.strictEqual(each.entries()?.[0]?.seq, each.from)
      })
    )
  )

  it.effect(
    "a listener hears of no append that was refused, and of no run that it does not want",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const journal = yield* RunJournal
          const wanted = yield* Samples.begin()
          const { told } = yield* listening(wanted.run)
          const { append } = journal
          const stale = wanted.next(Samples.modelTurned(1))
          const refused = yield* Effect.result(
            append({ ...stale, fence: { ...stale.fence, length: stale.fence.length + 1 } })
          )
          assert.isTrue(Result.isFailure(refused))
          assert.isFalse(yield* journal.create(wanted.run, 1, Samples.runAccepted(wanted.task)))
          yield* Samples.begin({}, [Samples.modelTurned(1)])
          assert.deepStrictEqual(told, [])
        })
      )
  )

  it.effect(
    "a listener hears of a transaction after its body, and of nothing when the scope is closed",
    () =>
      Effect.gen(function* () {
        const journal = yield* RunJournal
        const ownership = yield* RunOwnership
        const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
        const gate = Deferred.makeUnsafe<void>()
        const started = Deferred.makeUnsafe<void>()
        const told = yield* Effect.scoped(
          Effect.gen(function* () {
            const { told } = yield* listening(begun.run)
            const body = Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(gate))
            const transaction = yield* Effect.forkChild(
              journal.transact(begun.run, begun.fence, body, () =>
                begun.next(Samples.callSettled())
              )
            )
            yield* Deferred.await(started)
            assert.deepStrictEqual(told, [])
            yield* Deferred.succeed(gate, undefined)
            yield* Fiber.join(transaction)
            assert.strictEqual(told.length, 1)
            return told
          })
        )
        yield* ownership.claim(begun.run, "b")
        assert.strictEqual(told.length, 1)
      })
  )
}
