/** `mailbox: "answer"`: what those are given who watch a conversation while runs answer beside another. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import * as EventStream from "../../layers/http/stream/EventStream.ts"
import type { Cursor, FeedItem } from "../../src/run/FeedItem.ts"
import { AgentRuntime, openStream } from "../../services/AgentRuntime.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import * as H from "./Harness.ts"
import { layer, waiting, makeGate } from "./SideScenes.ts"

const conversation = ConversationId.make("c-1")

type Event = Extract<FeedItem, { readonly _tag: "Event" }>

/** The events of the conversation behind a cursor, up to the first that fits. */
const watched = (
  until: (item: Event) => boolean,
  after: Cursor | undefined = { ordinal: 0, seq: -1 }
) =>
  AgentRuntime.use((agents) =>
    agents.watch(conversation, after, H.alice).pipe(
      Stream.filter((item): item is Event => item._tag === "Event"),
      Stream.takeUntil(until),
      Stream.runCollect
    )
  )

/** The event's id as an HTTP client gets it. */
const idOf = (item: Event) =>
  EventStream.bytes(openStream(Stream.make(item)), {
    customer: false,
    heartbeat_ms: 60_000,
    goesOn: Effect.succeed(true),
    until: Effect.never
  }).pipe(
    Stream.decodeText,
    Stream.mkString,
    Effect.map((text) => /^id: (.*)$/m.exec(text)?.[1])
  )

const placeOf = ({ entry, ordinal }: Event) => `${ordinal}.${entry.seq}`

const isEndOf = (run: RunId) => (item: Event) =>
  item.run === run && item.entry.event._tag === "RunEnded"

describe("who watches the conversation", () => {
  it.live(
    "sees side runs while the question is open, and from every cursor all that is behind it",
    () =>
      Effect.gen(function* () {
        const first = yield* waiting
        // As they come: side runs before the end of the run that waits.
        const watching = yield* Effect.forkChild(
          watched((item) => item.ordinal === 4 && item.entry.event._tag === "RunEnded")
        )
        const second = yield* H.send("two")
        const third = yield* H.send("three")
        yield* watched(isEndOf(third))
        yield* H.decide(first.approval, H.approve)
        yield* H.ended(first.run)
        const last = yield* H.send("four")
        const all = yield* Fiber.join(watching)
        assert.isBelow(all.findIndex(isEndOf(third)), all.findIndex(isEndOf(first.run)))
        const reader = yield* RunReader
        for (const [run, ordinal] of [
          [first.run, 1],
          [second, 2],
          [third, 3],
          [last, 4]
        ] as const) {
          const journal = yield* reader.read(run, 0, 100)
          assert.deepStrictEqual(
            all.filter((item) => item.run === run).map(placeOf),
            journal.map(({ seq }) => `${ordinal}.${seq}`)
          )
        }
        for (const item of all.slice(0, -1)) {
          const own = { ordinal: item.ordinal, seq: item.entry.seq }
          const after = EventStream.parseCursor(yield* idOf(item))
          assert.deepStrictEqual(after, item.cursor ?? own)
          const rest = yield* watched(isEndOf(last), after)
          const behind = all.slice(all.indexOf(item) + 1).map(placeOf)
          assert.sameMembers(rest.map(placeOf), behind, `behind ${placeOf(item)}`)
        }
      }).pipe(Effect.provide(layer()))
  )

  it.live("is refused a place in side runs that do not answer beside its run", () =>
    Effect.gen(function* () {
      const first = yield* waiting
      const second = yield* H.send("two")
      yield* H.ended(second)
      for (const beside of [
        { ordinal: 1, seq: 0 },
        { ordinal: 3, seq: 0 }
      ]) {
        const refused = yield* Effect.flip(watched(isEndOf(second), { ordinal: 1, seq: 1, beside }))
        assert.deepInclude(refused, { _tag: "InvalidInput", field: "after" })
      }
      yield* H.decide(first.approval, H.approve)
      yield* H.ended(first.run)
    }).pipe(Effect.provide(layer()))
  )

  it.live("is given a side run again of which the server lost what it had shown", () => {
    const gate = makeGate()
    return Effect.gen(function* () {
      yield* waiting
      yield* H.send("two")
      yield* gate.begun
      const after = { ordinal: 1, seq: 1, beside: { ordinal: 2, seq: 99 } }
      const given = yield* watched((item) => placeOf(item) === "2.2", after)
      assert.includeMembers(given.map(placeOf), ["2.0", "2.1", "2.2"])
      yield* gate.open
    }).pipe(Effect.provide(layer(gate.side)))
  })

  it.live("sees each event once, also where the decision comes while the side run goes", () => {
    const gate = makeGate()
    return Effect.gen(function* () {
      const first = yield* waiting
      const seen: Array<string> = []
      const watching = yield* Effect.forkChild(
        AgentRuntime.use((agents) =>
          agents.watch(conversation, { ordinal: 0, seq: -1 }, H.alice).pipe(
            Stream.filter((item): item is Event => item._tag === "Event"),
            Stream.runForEach((item) => Effect.sync(() => seen.push(placeOf(item))))
          )
        )
      )
      const second = yield* H.send("two")
      yield* gate.begun
      yield* H.decide(first.approval, H.approve)
      yield* H.ended(first.run)
      yield* gate.open
      const third = yield* H.send("three")
      yield* H.ended(third)
      yield* H.ended(second)
      const whole = yield* watched(isEndOf(third))
      yield* Effect.repeat(Effect.sleep(10), { until: () => seen.length >= whole.length })
      assert.strictEqual(new Set(seen).size, seen.length)
      assert.sameMembers(seen, whole.map(placeOf))
      yield* Fiber.interrupt(watching)
    }).pipe(Effect.provide(layer(gate.side)))
  })
})
