/** The store has a run's end, and its answer has not yet reached the process that wrote it. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { watchFeed } from "../../layers/compose/promises/WatchedFeed.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { RunReader } from "../../services/RunReader.ts"
import { RunList } from "../../services/RunList.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { RunId } from "../../src/value/Ids.ts"
import * as H from "../runtime/Harness.ts"
import { engines } from "./Engines.ts"
import { storesOver } from "./SlowAnswers.ts"

/** While it is slow, what the store answers to statements with this text waits until somebody lets it through. */
class Line {
  isSlow = false
  readonly isThrough = Deferred.makeUnsafe<void>()
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  readonly letThrough = Deferred.succeed(this.isThrough, undefined)

  /** Stores over the client, by this line. */
  stores(client: (typeof engines)[number][1]) {
    return storesOver(client, (text) =>
      this.isSlow && text.includes(this.#text) ? Deferred.await(this.isThrough) : Effect.void
    )
  }
}

const stored = Effect.fnUntraced(function* (run: RunId) {
  const tasks = yield* TaskStore
  for (;;) {
    if ((yield* tasks.read(H.tenant, run))?.status === "complete") return
    yield* Effect.sleep(5)
  }
})

const shown = (item: FeedItem): string =>
  item._tag === "Event" ? item.entry.event._tag : item._tag

describe("a run whose end is stored, and not yet known to its own process", () => {
  for (const [name, client] of engines) {
    it.live(
      `is watched to its end (${name})`,
      () => {
        const line = new Line("troupe.append_")
        return Effect.gen(function* () {
          const process = yield* H.boot({
            script: () => {
              line.isSlow = true
              return text("done")
            }
          })
          const items = yield* process.run(
            Effect.gen(function* () {
              const run = yield* H.send("hello")
              yield* stored(run)
              return yield* watchFeed(run, undefined, H.alice).pipe(
                Stream.tap(({ _tag }) => (_tag === "CaughtUp" ? line.letThrough : Effect.void)),
                Stream.runCollect
              )
            })
          )
          const journaled = items.filter(({ _tag }) => _tag !== "Delta").map(shown)
          assert.deepStrictEqual(journaled, [
            "RunAccepted",
            "RunClaimed",
            "CaughtUp",
            "ModelTurned",
            "RunEnded"
          ])
        }).pipe(Effect.scoped, Effect.provide(line.stores(client)))
      },
      { timeout: 60_000 }
    )
  }
})

const never_ms = 3_600_000

/** The first run, as soon as it is stored. */
const firstStored = Effect.gen(function* () {
  const list = yield* RunList
  for (;;) {
    const [found] = yield* list.list({ tenant: H.tenant, limit: 1 })
    if (found !== undefined) return found.id
    yield* Effect.sleep(5)
  }
})

/** Cancels the run, whose process then looks at it, and waits until it has looked: its reads come before these. */
const cancelled = Effect.fnUntraced(function* (run: RunId) {
  yield* H.cancel(run)
  for (let n = 0; n < 5; n++) yield* RunReader.use((reader) => reader.head(run))
})

/** Options that count the model's turns. */
const counted = () => {
  const seen = { turns: 0 }
  const options: H.Options = {
    script: () => (seen.turns++, text("done")),
    config: { sweep_ms: never_ms, lease_ms: never_ms }
  }
  return { seen, options }
}

describe("a run that is cancelled before its own process has it at work", () => {
  for (const [name, client] of engines) {
    it.live(`has no turn where its message is stored and not acknowledged (${name})`, () => {
      const line = new Line("troupe.accept_messages")
      const { options, seen } = counted()
      return Effect.gen(function* () {
        const process = yield* H.boot(options)
        line.isSlow = true
        const sending = yield* Effect.forkScoped(process.run(H.send("first")))
        yield* process.run(cancelled(yield* firstStored))
        yield* line.letThrough
        const run = yield* Fiber.join(sending)
        assert.deepInclude(H.end(yield* H.events(run)), { status: "cancelled" })
        yield* process.run(Effect.flatMap(H.send("second"), (next) => H.ended(next)))
        assert.strictEqual(seen.turns, 1)
      }).pipe(Effect.scoped, Effect.provide(line.stores(client)))
    })

    it.live(`has no turn where its actor is still with the run before it (${name})`, () => {
      const line = new Line('"status":"complete"')
      const { options, seen } = counted()
      return Effect.gen(function* () {
        const process = yield* H.boot(options)
        line.isSlow = true
        yield* stored(yield* process.run(H.send("first")))
        const run = yield* process.run(H.send("second"))
        yield* process.run(cancelled(run))
        yield* line.letThrough
        assert.deepInclude(H.end(yield* H.events(run)), { status: "cancelled" })
        yield* process.run(Effect.flatMap(H.send("third"), (next) => H.ended(next)))
        assert.strictEqual(seen.turns, 2)
      }).pipe(Effect.scoped, Effect.provide(line.stores(client)))
    })
  }
})
