/** Runs at work, which whoever begins to watch is shown from memory, and when the journal is read all the same. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import type { Committed } from "../../services/RunNews.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { channelKey } from "../../layers/runtime/feed/ChannelKey.ts"
import { ShortRunCache } from "../../layers/runtime/feed/ShortRunCache.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "./Harness.ts"

const look = call("look", { n: 1 })
const pay = call("pay", { n: 2 })
const lookThenPay: H.Options["script"] = ({ step }) =>
  step === 1 ? look : step === 2 ? pay : text("done")
const both: H.Options["script"] = ({ step }) => (step === 1 ? calls([look, pay]) : text("done"))

/** A process that counts the pages which its watchers read of the journal; its tools wait. */
const counting = Effect.fnUntraced(function* (script: H.Options["script"] = lookThenPay) {
  const [looking, looked, paying, paid] = yield* Effect.all(
    Array.from({ length: 4 }, () => Deferred.make<void>())
  )
  const waits = (began: Deferred.Deferred<void>, goOn: Deferred.Deferred<void>) => () =>
    Effect.andThen(Deferred.succeed(began, undefined), Effect.as(Deferred.await(goOn), 1))
  let pages = 0
  const options: H.Options = {
    tools: { look: H.reads(waits(looking!, looked!)), pay: H.asks(waits(paying!, paid!)) },
    script
  }
  const process = yield* H.withJournal(H.boot(options), ({ read }) => ({
    read: (...of) => Effect.suspend(() => (pages++, read(...of)))
  }))
  return {
    process,
    looking: Deferred.await(looking!),
    looked: Deferred.succeed(looked!, undefined),
    paying: Deferred.await(paying!),
    paid: Deferred.succeed(paid!, undefined),
    pages: () => pages
  }
})

/** What a watcher of the conversation's first run gets until this is the case. */
const watchUntil = (is: (item: FeedItem) => boolean) =>
  Effect.map(
    AgentRuntime.use((runtime) =>
      runtime
        .watch(ConversationId.make("c-1"), { ordinal: 1, seq: -1 }, H.alice)
        .pipe(Stream.takeUntil(is), Stream.runCollect)
    ),
    (items) => items.map((item) => (item._tag === "Event" ? item.entry.event._tag : item._tag))
  )

const isEvent = (tag: string) => (item: FeedItem) =>
  item._tag === "Event" && item.entry.event._tag === tag

describe("a run at work", () => {
  it.effect("is shown from its start on without the journal, until it asks", () =>
    Effect.gen(function* () {
      const { looked, looking, pages, paid, process } = yield* counting()
      const run = yield* process.run(H.send("hello"))
      yield* looking
      const first = yield* process.run(watchUntil(({ _tag }) => _tag === "CaughtUp"))
      assert.deepStrictEqual(first, ["RunAccepted", "RunClaimed", "ModelTurned", "CaughtUp"])
      assert.strictEqual(pages(), 0)
      const watching = yield* Effect.forkChild(process.run(watchUntil(isEvent("RunEnded"))))
      yield* Effect.andThen(looked, paid)
      yield* process.run(H.question(run))
      // An answer may be in the journal before this process knows it.
      const before = pages()
      const asked = yield* process.run(watchUntil(({ _tag }) => _tag === "CaughtUp"))
      assert.strictEqual(asked.at(-2), "ApprovalRequested")
      assert.isAbove(pages(), before)
      const [question] = yield* process.run(H.pending)
      yield* process.run(H.decide(question!.id, H.approve))
      const all = (yield* process.run(H.ended(run))).map(({ _tag }) => _tag)
      // Who was shown the start from memory has got every event once.
      const shown = yield* Fiber.join(watching)
      assert.deepStrictEqual(
        shown.filter((tag) => tag !== "CaughtUp" && tag !== "Delta"),
        all
      )
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is read in the journal while it asks, also beside a call at work", () =>
    Effect.gen(function* () {
      const { looked, looking, pages, paid, process } = yield* counting(both)
      const run = yield* process.run(H.send("hello"))
      yield* looking
      yield* process.run(H.question(run))
      const before = pages()
      yield* process.run(watchUntil(({ _tag }) => _tag === "CaughtUp"))
      assert.isAbove(pages(), before)
      yield* Effect.andThen(looked, paid)
      const [question] = yield* process.run(H.pending)
      yield* process.run(H.decide(question!.id, H.approve))
      yield* process.run(H.ended(run))
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect("is shown without the journal after an answer, and not after its end", () =>
    Effect.gen(function* () {
      const { looked, pages, paid, paying, process } = yield* counting()
      yield* looked
      const run = yield* process.run(H.send("hello"))
      yield* process.run(H.question(run))
      // It is parked: the answer starts an actor for it.
      yield* TestClock.adjust(10_000)
      const [question] = yield* process.run(H.pending)
      yield* process.run(H.decide(question!.id, H.approve))
      yield* paying
      const before = pages()
      const shown = yield* process.run(watchUntil(({ _tag }) => _tag === "CaughtUp"))
      assert.strictEqual(shown.at(-2), "CallDispatched")
      assert.strictEqual(pages(), before)
      yield* paid
      yield* process.run(H.ended(run))
      const after = pages()
      yield* process.run(watchUntil(isEvent("RunEnded")))
      assert.isAbove(pages(), after)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
})

describe("what is kept of runs at work", () => {
  const key = channelKey(H.tenant, ConversationId.make("c-1"))
  const append = (run: RunId, from: number, count = 1, size = 10): Committed => {
    const entries = Array.from({ length: count }, (_, i) => ({
      seq: from + i,
      at: 0,
      event: Samples.modelTurned(from + i)
    }))
    return { run, from, count, size, isEnd: false, mayEndWait: false, entries: () => entries }
  }
  const seqs = (runs: ShortRunCache, ordinal = 1) =>
    runs.get(key, ordinal)?.entries.map(({ seq }) => seq)

  it("is all of a run without a gap, or nothing", () => {
    const runs = new ShortRunCache()
    const run = Samples.runId()
    runs.set(key, 1, append(run, 0, 2))
    runs.add(append(run, 2))
    runs.add(append(run, 1))
    runs.add(append(Samples.runId(), 3))
    assert.deepStrictEqual(seqs(runs), [0, 1, 2])
    assert.isUndefined(seqs(runs, 2))
    runs.add(append(run, 4))
    assert.isUndefined(seqs(runs))
    runs.add(append(run, 3))
    assert.strictEqual(runs.size, 0)
  })

  it("is nothing of a run that has ended, was left or has much to keep, or behind which another began", () => {
    const ends: ReadonlyArray<(runs: ShortRunCache, run: RunId) => void> = [
      (runs, run) => runs.add({ ...append(run, 1), isEnd: true }),
      (runs, run) => runs.add(append(run, 1, 16)),
      (runs, run) => runs.add(append(run, 1, 1, 16_000)),
      (runs, run) => runs.add({ ...append(run, 1), entries: () => undefined }),
      (runs, run) => runs.delete(run),
      (runs) => runs.deleteAll(key),
      (runs) => runs.deleteAll(undefined),
      (runs) => runs.set(key, 2, append(Samples.runId(), 0))
    ]
    for (const end of ends) {
      const runs = new ShortRunCache()
      const run = Samples.runId()
      runs.set(key, 1, append(run, 0))
      runs.add(append(run, 1))
      assert.deepStrictEqual(seqs(runs), [0, 1])
      const other = new ShortRunCache()
      other.set(key, 1, append(run, 0))
      end(other, run)
      assert.isUndefined(seqs(other))
    }
  })

  it("is bounded over all runs", () => {
    const runs = new ShortRunCache()
    for (let n = 0; n < 1_100; n++) {
      const each = channelKey(H.tenant, ConversationId.make(`c-${n}`))
      runs.set(each, 1, append(Samples.runId(), 0, 1, 15_999))
    }
    assert.isAtMost(runs.size, 1_000)
  })
})
