/** Appends that a journal does at once, and Effects that are their own result. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { fold } from "../../src/run/RunFold.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { isDone } from "../../layers/runtime/fiber/Coroutine.ts"
import { makeWakeup } from "../../layers/runtime/loop/RunWakeup.ts"
import { RunWriter } from "../../layers/runtime/loop/RunWriter.ts"
import * as Samples from "../contracts/Samples.ts"

const stopping = { _tag: "RunStopping", status: "failed", by: "runtime", reason: "enough" } as const

/** A claimed run of a journal in memory, its next append, and how long it is. */
const claimed = Effect.gen(function* () {
  const journal = yield* RunJournal
  const reader = yield* RunReader
  const { fence, run } = yield* Samples.begin()
  const entries = reader.read(run, 0, 10)
  const append = { run, fence, events: [stopping], status: "processing", parkable: false } as const
  return { journal, reader, append, run, entries, length: Effect.map(entries, (all) => all.length) }
})

/** The input that the writer decided on, which nothing else holds. */
const decideStop = (writer: RunWriter): WeakRef<object> => {
  const input = { _tag: "Stops", stopping } as const
  writer.decide([input])
  return new WeakRef(input)
}

/** A collection, in a turn of its own: until then whatever was looked at is kept. */
const collected = Effect.callback<void>((resume) => {
  setFlagsFromString("--expose-gc")
  setImmediate(() => {
    runInNewContext("gc")()
    resume(Effect.void)
  })
})

describe("an append to a journal in memory", () => {
  it.effect("does nothing before it is run", () =>
    Effect.gen(function* () {
      const { append, journal, length } = yield* claimed
      const appending = journal.append(append)
      assert.strictEqual(yield* length, 2)
      yield* appending
      assert.strictEqual(yield* length, 3)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is done by the call of `now`, and refused by it", () =>
    Effect.gen(function* () {
      const { append, journal, length } = yield* claimed
      assert.deepStrictEqual(journal.append.now!(append), Exit.void)
      assert.strictEqual(yield* length, 3)
      const again = journal.append.now!(append)
      assert.isTrue(isDone(again) && Exit.isFailure(again))
      assert.strictEqual(yield* length, 3)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  for (const [how, isWrapped] of [
    ["at once where the journal can", false],
    ["by a fiber where another wraps its appends", true]
  ] as const) {
    it.effect(`is done by a run's writer ${how}`, () =>
      Effect.gen(function* () {
        const { entries, journal, length, reader, run } = yield* claimed
        let wrapped = 0
        const services = {
          journal: isWrapped
            ? RunJournal.of({
                ...journal,
                append: (append) => (
                  wrapped++,
                  Effect.andThen(Effect.yieldNow, journal.append(append))
                )
              })
            : journal,
          reader,
          onDurable: () => {},
          onAmended: () => {}
        }
        const state = fold((yield* entries).map(({ event }) => event))
        const writer = new RunWriter(services, run, state, makeWakeup())
        const decided = decideStop(writer)
        const appending = writer.append(undefined)
        assert.strictEqual(isDone(appending), !isWrapped)
        assert.isUndefined(yield* appending)
        assert.strictEqual(wrapped, isWrapped ? 1 : 0)
        assert.strictEqual(yield* length, state.length)
        yield* collected
        assert.isUndefined(decided.deref(), "an input is not kept when it is durable")
        assert.isDefined(writer.state)
      }).pipe(Effect.provide(EphemeralStores.layer))
    )
  }
})

describe("an Effect", () => {
  it("is its own result if it is an Exit, and otherwise is not", () => {
    assert.isTrue(isDone(Exit.succeed(1)))
    assert.isTrue(isDone(Exit.fail("no")))
    assert.isFalse(isDone(Effect.sync(() => 1)))
  })
})
