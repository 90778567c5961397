/** Who loads a run when, where more wait than there are places. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Line } from "../../layers/runtime/actor/RunLoading.ts"
import { RunLoading } from "../../layers/runtime/actor/RunLoading.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as H from "./Harness.ts"
import { interruptedAnywhere } from "./Interruptions.ts"

it.effect("runs that wait to be loaded take turns with those of messages, the oldest first", () =>
  Effect.gen(function* () {
    const loading = new RunLoading(1)
    const order: Array<string> = []
    const gate = yield* Deferred.make<void>()
    const load = (line: Line, name: string) =>
      Effect.forkChild(
        loading.withPermit(
          line,
          Effect.andThen(
            Effect.sync(() => order.push(name)),
            Deferred.await(gate)
          )
        ),
        { startImmediately: true }
      )
    const fibers = [yield* load("found", "f1"), yield* load("found", "f2")]
    for (const name of ["f3", "f4"]) fibers.push(yield* load("found", name))
    for (const name of ["s1", "s2"]) fibers.push(yield* load("sent", name))
    assert.deepStrictEqual(order, ["f1"])
    yield* Deferred.succeed(gate, undefined)
    yield* Effect.forEach(fibers, Fiber.join)
    assert.deepStrictEqual(order, ["f1", "s1", "f2", "s2", "f3", "f4"])
  })
)

it.effect("a place is free again after a failure, and one who gave up waiting takes none", () =>
  Effect.gen(function* () {
    const loading = new RunLoading(1)
    const gate = yield* Deferred.make<void, string>()
    const holder = yield* Effect.forkChild(loading.withPermit("sent", Deferred.await(gate)), {
      startImmediately: true
    })
    const waiting = () =>
      Effect.forkChild(loading.withPermit("found", Effect.succeed("loaded")), {
        startImmediately: true
      })
    const left = yield* waiting()
    const stays = yield* waiting()
    yield* Fiber.interrupt(left)
    yield* Deferred.fail(gate, "broken")
    assert.strictEqual(yield* Effect.flip(Fiber.join(holder)), "broken")
    assert.strictEqual(yield* Fiber.join(stays), "loaded")
    assert.strictEqual(yield* loading.withPermit("sent", Effect.succeed("next")), "next")
  })
)

it.effect("a place is free again after an interruption at any operation", () =>
  Effect.gen(function* () {
    const loading = new RunLoading(1)
    yield* interruptedAnywhere(loading.withPermit("sent", Effect.never), 20)
    yield* Effect.forkChild(loading.withPermit("sent", Effect.never), { startImmediately: true })
    assert.isFalse(loading.isCrowded)
  })
)

it.effect("it is crowded while as many wait, in either line, as there are places", () =>
  Effect.gen(function* () {
    const loading = new RunLoading(2)
    const gate = yield* Deferred.make<void>()
    const load = (line: Line) =>
      Effect.forkChild(loading.withPermit(line, Deferred.await(gate)), { startImmediately: true })
    const crowded: Array<boolean> = []
    const fibers: Array<Fiber.Fiber<void>> = []
    for (const line of ["sent", "found", "sent", "found"] as const) {
      fibers.push(yield* load(line))
      crowded.push(loading.isCrowded)
    }
    assert.deepStrictEqual(crowded, [false, false, false, true])
    yield* Deferred.succeed(gate, undefined)
    yield* Effect.forEach(fibers, Fiber.join)
    assert.isFalse(loading.isCrowded)
  })
)

it.effect("of ten thousand runs no more are loaded at once than there are places", () =>
  Effect.gen(function* () {
    const loading = new RunLoading(64)
    let most = 0
    let now = 0
    const load = Effect.gen(function* () {
      most = Math.max(most, ++now)
      yield* Effect.yieldNow
      now--
    })
    yield* Effect.forEach(Array.from({ length: 10_000 }), () => loading.withPermit("found", load), {
      concurrency: "unbounded",
      discard: true
    })
    assert.strictEqual(most, 64)
  })
)

it.effect("a sweep that finds a run while it is claimed makes nobody read its journal again", () =>
  Effect.gen(function* () {
    const reader = yield* RunReader
    const config = { sweep_ms: 100, drain_ms: 0 }
    const first = yield* H.boot({ script: () => Effect.never, config })
    const run = yield* first.run(H.send("hello"))
    yield* first.run(H.happened(run, "RunClaimed"))
    yield* first.stop
    const claiming = yield* Deferred.make<void>()
    let reads = 0
    yield* H.withJournal(H.boot({ script: () => text("done"), config }), (own) => ({
      claim: (...args) => Effect.andThen(Deferred.await(claiming), own.claim(...args)),
      read: (...args) => {
        reads++
        return own.read(...args)
      }
    }))
    yield* TestClock.adjust(500)
    yield* Deferred.succeed(claiming, undefined)
    while ((yield* reader.head(run)).status !== "complete") yield* Effect.yieldNow
    assert.strictEqual(reads, 0)
  }).pipe(Effect.provide(EphemeralStores.layer))
)
