/** A watcher that waits for the outcome of a run: it is not woken for each step, and misses nothing. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Feed } from "../../layers/runtime/feed/Feed.ts"
import { channelKey } from "../../layers/runtime/feed/ChannelKey.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { openFeed } from "../../layers/runtime/actor/Watch.ts"
import * as Deadlines from "../../layers/runtime/tool/Deadlines.ts"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { ConversationId, FrameId } from "../../src/value/Ids.ts"
import type { JournalEntry, RunEvent } from "../../src/run/RunEvent.ts"
import { mayEndWait } from "../../src/run/RunEvent.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "./Harness.ts"
import { RunReader } from "../../services/RunReader.ts"

const conversation = ConversationId.make("c-1")
const key = channelKey(H.tenant, conversation)
const run = Samples.runId()
const watch_ms = 1_000

/** Tells the feed of an append to the run. */
const commit = (feed: Feed, from: number, event: RunEvent, size = 100) =>
  feed.listener.onCommitted({
    run,
    from,
    count: 1,
    isEnd: event._tag === "RunEnded",
    mayEndWait: mayEndWait(event._tag),
    size,
    entries: (): ReadonlyArray<JournalEntry> => [{ seq: from, at: 1, event }]
  })

const patient = () => {
  const feed = new Feed()
  let woken = 0
  const watcher = feed.watch(H.tenant, conversation, { isPatient: true, wake: () => woken++ })
  watcher.follow(run, 1)
  return { feed, watcher, woken: () => woken }
}

const question = Samples.approvalRequested()
const outcomes: ReadonlyArray<RunEvent> = [
  question,
  Samples.clientRequested(),
  { _tag: "CallUnknown", call: question.call },
  Samples.runEnded()
]

describe("a patient watcher", () => {
  for (const event of outcomes) {
    it(`is woken by ${event._tag}, and not by the steps before it, which it gets too`, () => {
      const { feed, watcher, woken } = patient()
      for (let n = 0; n < 5; n++) commit(feed, n, Samples.modelTurned(n))
      assert.strictEqual(woken(), 0)
      commit(feed, 5, event)
      assert.strictEqual(woken(), 1)
      const { entries } = watcher.committed.take({ ordinal: 1, seq: -1, isEnded: false })
      assert.deepStrictEqual(
        entries.map(({ entry }) => [entry.seq, entry.event._tag]),
        [...[0, 1, 2, 3, 4].map((n) => [n, "ModelTurned"]), [5, event._tag]]
      )
    })
  }

  it("takes what waits when that is 16 entries, or 100,000 units", () => {
    const few = patient()
    for (let n = 0; n < 15; n++) commit(few.feed, n, Samples.modelTurned(n))
    assert.strictEqual(few.woken(), 0)
    commit(few.feed, 15, Samples.modelTurned(15))
    assert.strictEqual(few.woken(), 1)
    const large = patient()
    commit(large.feed, 0, Samples.modelTurned(0), 90_000)
    assert.strictEqual(large.woken(), 0)
    commit(large.feed, 1, Samples.modelTurned(1), 90_000)
    assert.strictEqual(large.woken(), 1)
  })

  it("gets no pieces of turns, and others of the conversation do", () => {
    const { feed, watcher, woken } = patient()
    const other = feed.watch(H.tenant, conversation, { wake: () => undefined })
    const position = { run, ordinal: 1, frame: FrameId.make("0"), step: 1 }
    feed.delta(key, position, { kind: "text", text: "x", offset: 0 })
    assert.strictEqual(woken(), 0)
    assert.deepStrictEqual(watcher.take(), [])
    assert.lengthOf(other.take(), 1)
    const late = feed.watch(H.tenant, conversation, { isPatient: true, wake: () => undefined })
    assert.deepStrictEqual(late.take(), [])
  })

  it.effect("reads the journal after `watch_ms` only where nothing waits for it here", () =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const feed = new Feed()
      const tasks = yield* TaskStore
      const reader = yield* RunReader
      let reads = 0
      const counted: TaskStore["Service"] = {
        ...tasks,
        ofConversation: (...of) =>
          Effect.suspend(() => {
            reads++
            return tasks.ofConversation(...of)
          })
      }
      const directory = yield* AgentDirectory
      const services = { directory, reader, tasks: counted, deadlines, feed, watch_ms }
      const sent = yield* H.send("one")
      yield* H.ended(sent)
      const watch = yield* openFeed(services, H.tenant, conversation, { ordinal: 1, seq: -1 }, true)
      const [first] = yield* watch.pull
      assert.strictEqual(first._tag, "Event")
      const wait = () => {
        let called = 0
        assert.strictEqual(watch.takeAvailable(), "wait")
        watch.whenAvailable(() => called++)
        return () => called
      }
      const before = reads
      // Another run is at work here: a step of it waits.
      feed.follow(key, run, 2)
      const working = wait()
      commit(feed, 0, Samples.modelTurned(0))
      assert.strictEqual(working(), 0)
      yield* TestClock.adjust(watch_ms)
      assert.strictEqual(working(), 1)
      const items = watch.takeAvailable()
      assert.strictEqual(items === "wait" || items === "pull" ? items : items.length, 1)
      assert.strictEqual(reads, before)
      const idle = wait()
      yield* TestClock.adjust(watch_ms)
      assert.strictEqual(idle(), 1)
      assert.strictEqual(watch.takeAvailable(), "pull")
    }).pipe(Effect.scoped, Effect.provide(H.layer({ script: () => text("ok") })))
  )
})
