import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { ConversationId } from "../../src/value/Ids.ts"
import type { Cursor, FeedItem } from "../../src/run/FeedItem.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const start: Cursor = { ordinal: 0, seq: -1 }
const looks = { look: H.reads((n) => Effect.succeed(n)) }

const watch = (after: Cursor = start, conversation = "c-1") =>
  Stream.unwrap(
    AgentRuntime.use((runtime) =>
      Effect.succeed(runtime.watch(ConversationId.make(conversation), after, H.alice))
    )
  )

const isEnd = (item: FeedItem) => item._tag === "Event" && item.entry.event._tag === "RunEnded"
const isDelta = (item: FeedItem) => item._tag === "Delta"

/** Everything up to the end of the `nth` run that ends. */
const upToEnd = (after: Cursor = start, nth = 1) => {
  let seen = 0
  return Stream.runCollect(
    watch(after).pipe(Stream.takeUntil((item) => isEnd(item) && ++seen === nth))
  )
}

const places = (items: ReadonlyArray<FeedItem>) =>
  items.flatMap((item) => (item._tag === "Event" ? [`${item.ordinal}.${item.entry.seq}`] : []))

describe("a watcher", () => {
  it.live("gets every event from the first, without a gap, over all runs", () =>
    Effect.gen(function* () {
      yield* H.ended(yield* H.send("one"))
      const live = yield* Effect.forkChild(upToEnd(start, 2), { startImmediately: true })
      yield* H.ended(yield* H.send("two"))
      const expected = [1, 2].flatMap((run) => [0, 1, 2, 3, 4, 5].map((seq) => `${run}.${seq}`))
      assert.deepStrictEqual(places(yield* Fiber.join(live)), expected)
      assert.deepStrictEqual(places(yield* upToEnd(start, 2)), expected)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: looks,
          script: ({ transcript }) =>
            transcript.length === 1 ? call("look", { n: 1 }) : text("done")
        })
      )
    )
  )

  it.live("goes on after its cursor, wherever that is", () =>
    Effect.gen(function* () {
      yield* H.ended(yield* H.send("one"))
      yield* H.ended(yield* H.send("two"))
      const all = places(yield* upToEnd(start, 2))
      for (const [index, place] of all.slice(0, -1).entries()) {
        const [ordinal, seq] = place.split(".").map(Number)
        const left = all.slice(index + 1)
        const ends = left.includes("1.3") ? 2 : 1
        assert.deepStrictEqual(places(yield* upToEnd({ ordinal: ordinal!, seq: seq! }, ends)), left)
      }
    }).pipe(Effect.provide(H.layer({ script: () => text("done") })))
  )

  it.live("with a cursor in a run that the conversation has not had is refused", () =>
    Effect.gen(function* () {
      const ahead = (after: Cursor, conversation?: string) =>
        Effect.map(Effect.flip(Stream.runDrain(watch(after, conversation))), (error) =>
          error._tag === "InvalidInput" ? error.field : error._tag
        )
      yield* H.ended(yield* H.send("one"))
      yield* H.ended(yield* H.send("two"))
      for (const after of [
        { ordinal: 3, seq: -1 },
        { ordinal: 9, seq: 0 }
      ]) {
        assert.strictEqual(yield* ahead(after), "after")
        assert.strictEqual(yield* ahead(after, "another"), "after")
      }
    }).pipe(Effect.provide(H.layer({ script: () => text("done") })))
  )

  it.live(
    "with a cursor behind all events of a run gets it whole at work, and none once over",
    () =>
      Effect.gen(function* () {
        const behind = { ordinal: 1, seq: 99 }
        const run = yield* H.send("one")
        const { approval } = yield* H.question(run)
        const seen = yield* Effect.forkChild(upToEnd(behind), { startImmediately: true })
        yield* H.decide(approval, H.approve)
        const all = (yield* H.ended(run)).map((_, seq) => `1.${seq}`)
        assert.deepStrictEqual(places(yield* Fiber.join(seen)), all)
        const later = yield* Effect.forkChild(upToEnd(behind), { startImmediately: true })
        const next = yield* H.send("two")
        yield* H.decide((yield* H.question(next)).approval, H.approve)
        yield* H.ended(next)
        assert.isTrue(places(yield* Fiber.join(later)).every((place) => place.startsWith("2.")))
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { change: H.asks((n) => Effect.succeed(n)) },
            script: ({ transcript }) =>
              transcript.at(-1)?.role === "user" ? call("change", { n: 1 }) : text("done")
          })
        )
      )
  )

  it.live("sees 250 ended runs at once, without waiting for a wakeup", () =>
    Effect.gen(function* () {
      const runs = yield* Effect.forEach(Array.from({ length: 250 }), () => H.send("hello"))
      yield* H.ended(runs.at(-1)!)
      const seen = places(yield* upToEnd(start, 250))
      assert.strictEqual(seen.length, 1_000)
      assert.strictEqual(new Set(seen).size, 1_000)
    }).pipe(
      Effect.provide(
        H.layer({
          script: () => text("done"),
          agent: { history_tokens_max: 0 },
          // What needed a look without a wakeup would never come.
          config: { watch_ms: 3_600_000 }
        })
      )
    )
  )

  it.live("that comes late gets the turn in progress from its start, then its deltas", () => {
    const gate = Deferred.makeUnsafe<void>()
    const half = Deferred.makeUnsafe<void>()
    return Effect.gen(function* () {
      const first = yield* Effect.forkChild(
        watch().pipe(
          Stream.filter(isDelta),
          Stream.take(2),
          Stream.tap(() => Deferred.succeed(half, undefined)),
          Stream.runCollect
        ),
        { startImmediately: true }
      )
      yield* H.send("hello")
      yield* Deferred.await(half)
      yield* Fiber.join(first)
      const late = yield* Stream.runCollect(watch().pipe(Stream.takeUntil(isEnd)))
      const deltas = late.flatMap((item) => (item._tag === "Delta" ? [item] : []))
      assert.strictEqual(deltas[0]?.offset, 0)
      let said = ""
      for (const { offset, text: piece } of deltas) said = said.slice(0, offset) + piece
      const whole = "all that the model says, piece by piece"
      assert.isTrue(whole.startsWith(said))
      const turn = late.find(
        (item) => item._tag === "Event" && item.entry.event._tag === "ModelTurned"
      )
      assert.deepInclude(turn?._tag === "Event" && turn.entry.event, { text: whole })
      yield* Deferred.succeed(gate, undefined)
    }).pipe(
      Effect.provide(
        H.layer({
          script: [text("all that the model says, piece by piece")],
          model: { piece_units: 4, piece_delay_ms: 5 }
        })
      )
    )
  })

  it.live("that falls behind gets a bounded number of deltas, and every event", () => {
    const pieces = 5_000
    return Effect.gen(function* () {
      const paused = Deferred.makeUnsafe<void>()
      const slow = yield* Effect.forkChild(
        watch().pipe(
          Stream.tap((item) =>
            item._tag === "Event" && item.entry.event._tag === "RunClaimed"
              ? Deferred.await(paused)
              : Effect.void
          ),
          Stream.takeUntil(isEnd),
          Stream.runCollect
        ),
        { startImmediately: true }
      )
      const run = yield* H.send("hello")
      yield* H.ended(run)
      yield* Deferred.succeed(paused, undefined)
      const items = yield* Fiber.join(slow)
      assert.isAtMost(items.filter(isDelta).length, 600)
      assert.deepStrictEqual(places(items), ["1.0", "1.1", "1.2", "1.3"])
    }).pipe(
      Effect.provide(H.layer({ script: [text("x".repeat(pieces))], model: { piece_units: 1 } }))
    )
  })

  it.live("that leaves cancels nothing", () => {
    const gate = Deferred.makeUnsafe<void>()
    return Effect.gen(function* () {
      const watcher = yield* Effect.forkChild(Stream.runDrain(watch()), { startImmediately: true })
      const run = yield* H.send("hello")
      yield* H.happened(run, "ModelTurned")
      yield* Fiber.interrupt(watcher)
      yield* Deferred.succeed(gate, undefined)
      assert.deepInclude(H.end(yield* H.ended(run)), { status: "complete" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { slow: H.reads((n) => Effect.as(Deferred.await(gate), n)) },
          script: [call("slow", { n: 1 }), text("done")]
        })
      )
    )
  })
})
