import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { RunReader } from "../../services/RunReader.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

describe("several calls of one step", () => {
  it.live(
    "SM-58 run while one of them waits, and the model is called when all have results",
    () => {
      const ran: Array<number> = []
      const asked = Deferred.makeUnsafe<void>()
      const look = (n: number) =>
        Effect.andThen(
          Deferred.await(asked),
          Effect.sync(() => (ran.push(n), n))
        )
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval } = yield* H.question(run)
        // The siblings' results arrive while the question waits.
        yield* Deferred.succeed(asked, undefined)
        yield* H.happened(run, "CallSettled", 2)
        assert.sameMembers(ran, [1, 3])
        assert.strictEqual((yield* H.requests).length, 1)
        yield* H.decide(approval, H.approve)
        yield* H.ended(run)
        // The results stand in the model's order, whatever order they came in.
        assert.deepStrictEqual(H.resultsShown((yield* H.requests)[1]), ["1", "2", "3"])
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              look: H.reads(look),
              pay: H.asks((n) => Effect.succeed(n))
            },
            script: [
              calls([call("look", { n: 1 }), call("pay", { n: 2 }), call("look", { n: 3 })]),
              text("done")
            ]
          })
        )
      )
    }
  )

  it.live("may wait for several decisions at once, each for its own", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "ApprovalRequested", 3)
      const asked = yield* H.pending
      assert.strictEqual(new Set(asked.map(({ id }) => id)).size, 3)
      const of = (n: number) => asked.find(({ payload }) => payload.args_summary === `n: ${n}`)!.id
      yield* H.decide(of(2), H.deny)
      yield* H.decide(of(3), H.approve)
      assert.strictEqual((yield* H.requests).length, 1)
      yield* H.decide(of(1), H.approve)
      yield* H.ended(run)
      const [first, second, third] = H.resultsShown((yield* H.requests)[1])
      assert.strictEqual(first, "1")
      assert.include(second, "APPROVAL_DENIED")
      assert.strictEqual(third, "3")
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { pay: H.asks((n) => Effect.succeed(n)) },
          script: [calls([1, 2, 3].map((n) => call("pay", { n }))), text("done")]
        })
      )
    )
  )

  it.effect("SM-29 run at the same time: two of 100 ms end after 100 ms", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "ModelTurned")
      yield* TestClock.adjust(100)
      const all = yield* H.ended(run)
      assert.deepStrictEqual(
        H.settled(all).map(({ ended_at, started_at }) => ended_at! - started_at!),
        [100, 100]
      )
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { slow: H.reads((n) => Effect.as(Effect.sleep(100), n)) },
          script: [calls([call("slow", { n: 1 }), call("slow", { n: 2 })]), text("done")]
        })
      )
    )
  )

  it.live("that is done at once is journaled with the time of its end", () => {
    let now = 1_700_000_000_000
    const next = () => ++now
    const ticking = Object.assign(Object.create(Effect.runSync(Clock.Clock)) as Clock.Clock, {
      currentTimeMillisUnsafe: next,
      currentTimeMillis: Effect.sync(next)
    })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.ended(run)
      const all = yield* RunReader.use((reader) => reader.read(run, 0, 100))
      const settled = all.find(({ event }) => event._tag === "CallSettled")!
      assert.isTrue(settled.event._tag === "CallSettled")
      assert.deepInclude(settled.event, { ended_at: settled.at })
      // The next append is no earlier.
      assert.isAbove(all.at(-1)!.at, settled.at)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look: H.reads((n) => Effect.succeed(n)) },
          script: [calls([call("look", { n: 1 })]), text("done")]
        })
      ),
      Effect.provideService(Clock.Clock, ticking)
    )
  })

  it.live("run at most in the limited number at once, without those that wait for a person", () => {
    let now = 0
    let most = 0
    const gate = Deferred.makeUnsafe<void>()
    const counted = (n: number) =>
      Effect.acquireUseRelease(
        Effect.sync(() => (most = Math.max(most, ++now))),
        () => Effect.as(n < 3 ? Effect.yieldNow : Deferred.await(gate), n),
        () => Effect.sync(() => now--)
      )
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      // Four wait for people, more than may run: the reads behind them still do.
      yield* H.happened(run, "ApprovalRequested", 4)
      yield* H.happened(run, "CallSettled", 3)
      yield* Deferred.succeed(gate, undefined)
      yield* H.happened(run, "CallSettled", 20)
      for (const { id } of yield* H.pending) yield* H.decide(id, H.deny)
      const all = yield* H.ended(run)
      assert.strictEqual(most, 3)
      assert.strictEqual(H.settled(all).length, 24)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { pay: H.asks((n) => Effect.succeed(n)), look: H.reads(counted) },
          agent: { limits: RunLimits.make({ calls_parallel_max: 3 }) },
          script: [
            calls([
              ...Array.from({ length: 4 }, (_, n) => call("pay", { n })),
              ...Array.from({ length: 20 }, (_, n) => call("look", { n }))
            ]),
            text("done")
          ]
        })
      )
    )
  })

  it.effect("have exactly one result each: 200 that answer, die, hang and need an approval", () => {
    const names = ["look", "die", "hang", "pay"] as const
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "ModelTurned")
      yield* Effect.gen(function* () {
        for (const { id } of yield* H.pending) {
          yield* Effect.ignore(H.decide(id, H.approve))
        }
        yield* TestClock.adjust(50)
      }).pipe(
        Effect.repeat({
          until: () => Effect.map(H.events(run), (all) => H.count(all, "RunEnded") === 1)
        })
      )
      const all = yield* H.events(run)
      const settled = H.settled(all)
      assert.strictEqual(settled.length, 200)
      assert.strictEqual(new Set(settled.map((event) => event.call)).size, 200)
      assert.strictEqual(H.count(all, "RunEnded"), 1)
      assert.strictEqual(H.count(all, "ApprovalRequested"), 50)
      const [, second] = yield* H.requests
      const shown = H.resultsShown(second)
      assert.strictEqual(shown.length, 200)
      for (const [index, said] of shown.entries()) {
        const expected = { look: /^\d+$/, die: /DEFECT/, hang: /TIMEOUT/, pay: /^\d+$/ }
        assert.match(said, expected[names[index % 4]!])
      }
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            look: H.reads((n) => Effect.succeed(n)),
            die: H.reads(() => Effect.die("x")),
            hang: H.reads(() => Effect.never, { timeout_ms: 50 }),
            pay: H.asks((n) => Effect.succeed(n))
          },
          script: [
            calls(Array.from({ length: 200 }, (_, n) => call(names[n % 4]!, { n }))),
            text("done")
          ]
        })
      )
    )
  })

  it.live("are distinct where the model gives them equal ids", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.sameMembers(
        H.settled(all).map((event) => event.call as string),
        ["0/1.0", "0/1.1"]
      )
      assert.deepStrictEqual(H.resultsShown((yield* H.requests)[1]), ["1", "2"])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look: H.reads((n) => Effect.succeed(n)) },
          script: [
            {
              text: "",
              finish: "tool_calls",
              calls: [
                { model_id: "same", name: "look", arguments: { n: 1 } },
                { model_id: "same", name: "look", arguments: { n: 2 } }
              ]
            },
            text("done")
          ]
        })
      )
    )
  )
})
