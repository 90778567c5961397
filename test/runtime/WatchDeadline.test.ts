/** A watcher whom nobody wakes, as where another process runs what it watches: it reads the journal every `watch_ms`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { openFeed } from "../../layers/runtime/actor/Watch.ts"
import { Feed } from "../../layers/runtime/feed/Feed.ts"
import { channelKey } from "../../layers/runtime/feed/ChannelKey.ts"
import * as Deadlines from "../../layers/runtime/tool/Deadlines.ts"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { feedStream } from "../../services/AgentRuntime.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import * as H from "./Harness.ts"
import { RunReader } from "../../services/RunReader.ts"

const conversation = ConversationId.make("c-1")
const watch_ms = 1_000

/** A watch over the stores of the runtime, whose feed is not told of what the runtime commits. */
const opening = Effect.gen(function* () {
  const deadlines = yield* Deadlines.make
  const feed = new Feed()
  const services = {
    directory: yield* AgentDirectory,
    reader: yield* RunReader,
    tasks: yield* TaskStore,
    deadlines,
    feed,
    watch_ms
  }
  const opened = openFeed(services, H.tenant, conversation, { ordinal: 0, seq: -1 })
  return { deadlines, feed, opened }
})

const namesOf = (items: ReadonlyArray<FeedItem>) =>
  items.flatMap((item) => {
    if (item._tag === "CaughtUp") return ["caught up"]
    return item._tag === "Event" && item.entry.event._tag === "RunEnded"
      ? [`end of ${item.ordinal}`]
      : []
  })

const watching = Effect.gen(function* () {
  const { deadlines, feed, opened } = yield* opening
  const seen: Array<string> = []
  const fiber = yield* Effect.forkChild(
    Stream.runForEach(feedStream(opened), (item) =>
      Effect.sync(() => seen.push(...namesOf([item])))
    ),
    { startImmediately: true }
  )
  yield* TestClock.adjust(0)
  return { deadlines, feed, fiber, seen }
})

const run = (what: string) => Effect.flatMap(H.send(what), (id) => H.ended(id))

const layer = H.layer({ script: () => text("ok") })

describe("a watcher whom nobody wakes", () => {
  it.effect("reads the journal `watch_ms` after its last read, and again after that", () =>
    Effect.gen(function* () {
      yield* run("one")
      const { seen } = yield* watching
      assert.deepStrictEqual(seen, ["end of 1", "caught up"])
      yield* run("two")
      yield* TestClock.adjust(watch_ms - 1)
      assert.strictEqual(seen.length, 2)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(seen.slice(2), ["end of 2"])
      yield* run("three")
      yield* TestClock.adjust(watch_ms - 1)
      assert.strictEqual(seen.length, 3)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(seen.slice(3), ["end of 3"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("waits `watch_ms` from the last wakeup on, and not from the one before", () =>
    Effect.gen(function* () {
      yield* run("one")
      const { feed, seen } = yield* watching
      yield* run("two")
      yield* TestClock.adjust(600)
      feed.wake(channelKey(H.tenant, conversation))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(seen.slice(2), ["end of 2"])
      yield* run("three")
      // The deadline of its first wait.
      yield* TestClock.adjust(400)
      assert.strictEqual(seen.length, 3)
      yield* TestClock.adjust(600)
      assert.deepStrictEqual(seen.slice(3), ["end of 3"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("leaves no deadline behind when it leaves", () =>
    Effect.gen(function* () {
      yield* run("one")
      const { deadlines, feed, fiber } = yield* watching
      assert.strictEqual(deadlines.armed(), 1)
      feed.wake(channelKey(H.tenant, conversation))
      yield* TestClock.adjust(0)
      assert.strictEqual(deadlines.armed(), 1)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(deadlines.armed(), 0)
      assert.strictEqual(feed.size, 0)
    }).pipe(Effect.provide(layer))
  )
})

describe("a watcher without a fiber", () => {
  it.effect("is told to pull until it has pulled, and then to wait", () =>
    Effect.gen(function* () {
      yield* run("one")
      const { feed, opened } = yield* opening
      const watch = yield* opened
      assert.strictEqual(watch.takeAvailable(), "pull")
      assert.strictEqual(watch.takeAvailable(), "pull")
      assert.deepStrictEqual(namesOf(yield* watch.pull), ["end of 1", "caught up"])
      assert.strictEqual(watch.takeAvailable(), "wait")
      let called = 0
      watch.whenAvailable(() => called++)
      yield* run("two")
      assert.strictEqual(called, 0)
      feed.wake(channelKey(H.tenant, conversation))
      feed.wake(channelKey(H.tenant, conversation))
      assert.strictEqual(called, 1)
      assert.strictEqual(watch.takeAvailable(), "pull")
      assert.strictEqual(watch.takeAvailable(), "pull")
      assert.deepStrictEqual(namesOf(yield* watch.pull), ["end of 2"])
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("is called `watch_ms` after it began to wait, and not after its scope has closed", () =>
    Effect.gen(function* () {
      yield* run("one")
      const { deadlines, feed, opened } = yield* opening
      const scope = yield* Scope.make()
      const watch = yield* Scope.provide(opened, scope)
      yield* watch.pull
      assert.strictEqual(watch.takeAvailable(), "wait")
      let called = 0
      watch.whenAvailable(() => called++)
      yield* TestClock.adjust(watch_ms - 1)
      assert.strictEqual(called, 0)
      yield* TestClock.adjust(1)
      assert.strictEqual(called, 1)
      yield* watch.pull.pipe(Effect.timeoutOption(0))
      assert.strictEqual(watch.takeAvailable(), "wait")
      watch.whenAvailable(() => called++)
      yield* Scope.close(scope, Exit.void)
      feed.wake(channelKey(H.tenant, conversation))
      yield* TestClock.adjust(watch_ms)
      assert.strictEqual(called, 1)
      assert.strictEqual(deadlines.armed(), 0)
      assert.strictEqual(feed.size, 0)
    }).pipe(Effect.provide(layer))
  )
})
