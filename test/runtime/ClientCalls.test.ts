/** A call that waits for its conversation's client: in a resident run, a parked one, another process, and out of time. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { RunReader } from "../../services/RunReader.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { ApprovalId, RunId } from "../../src/value/Ids.ts"
import { replayJournal } from "../../src/replay/JournalReplay.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import * as H from "./Harness.ts"

const answered = { result: { n: 1 } }

/** A tool whose results a client gives, within a second; its own body must never run. */
const clients = (more: Partial<H.Options> = {}) => {
  const ran: Array<number> = []
  const options: H.Options = {
    tools: { pick: H.writes((n) => Effect.sync(() => ran.push(n))) },
    script: ({ transcript }) => (transcript.length === 1 ? call("pick", { n: 7 }) : text("done")),
    spied: (tool) => ({ ...tool, client: { expires_ms: 1_000 } }),
    config: { park_ms: 10, sweep_ms: 100 },
    ...more
  }
  return { options, ran }
}

const requested = Effect.fnUntraced(function* (run: RunId, nth = 1) {
  yield* H.happened(run, "ClientRequested", nth)
  const all = (yield* H.events(run)).filter((event) => event._tag === "ClientRequested")
  return all[nth - 1]!
})

const answer = (id: ApprovalId, given: { readonly result: object } = answered, by = H.alice) =>
  ApprovalDesk.use((desk) => desk.answer(id, given as never, by))

const states = AgentRuntime.use((runtime) =>
  Effect.map(runtime.actors(100), (actors) => actors.map(({ state }) => state))
)

/** The decider makes the same journal again. */
const assertReplays = Effect.fnUntraced(function* (run: RunId) {
  const entries = yield* RunReader.use((reader) => reader.read(run, 0, 10_000))
  const { divergence, same } = replayJournal(run, entries)
  assert.isUndefined(divergence, JSON.stringify(divergence))
  assert.strictEqual(same, entries.length)
})

describe("a call that waits for a client", () => {
  for (const isParked of [false, true]) {
    it.effect(`is answered where its run is ${isParked ? "parked" : "resident"}`, () => {
      const { facts, observe } = H.recorder()
      const { options, ran } = clients({ observers: [observe] })
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval } = yield* requested(run)
        if (isParked) {
          yield* TestClock.adjust(10)
          assert.deepStrictEqual(yield* states, ["parked"])
        }
        assert.strictEqual((yield* TaskStore.use((tasks) => tasks.get(run)))?.status, "processing")
        yield* answer(approval)
        const all = yield* H.ended(run)
        assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: '{"n":1}' })
        assert.strictEqual(H.count(all, "RunClaimed"), isParked ? 2 : 1)
        assert.strictEqual(H.count(all, "CallDispatched"), 0)
        // Its own body has not run, and it is one call to those who observe calls.
        assert.deepStrictEqual(ran, [])
        assert.lengthOf(facts, 1)
        yield* assertReplays(run)
      }).pipe(Effect.provide(H.layer(options)))
    })
  }

  it.effect("outlives its process, and another one takes the answer", () => {
    const { options } = clients()
    return Effect.gen(function* () {
      const first = yield* H.boot(options)
      const run = yield* first.run(H.send("hello"))
      const { approval } = yield* first.run(requested(run))
      yield* first.stop
      const second = yield* H.boot(options)
      yield* second.run(answer(approval))
      const all = yield* second.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "complete" })
      assert.strictEqual(H.count(all, "ClientRequested"), 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect("fails with a typed error when its time is over, and the run goes on", () => {
    const { options } = clients()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* requested(run)
      yield* TestClock.adjust(900)
      assert.strictEqual(H.count(yield* H.events(run), "CallSettled"), 0)
      yield* TestClock.adjust(200)
      const all = yield* H.ended(run)
      assert.deepInclude(H.end(all), { status: "complete" })
      assert.deepStrictEqual(H.outcome(all), {
        _tag: "Failed",
        error: {
          class: "ToolTransientError",
          kind: "timeout",
          reason: "CLIENT_TIMEOUT",
          message: "the user's client gave no result in time"
        }
      })
      const late = yield* Effect.flip(answer(approval))
      assert.strictEqual(late._tag, "ApprovalExpired")
      yield* assertReplays(run)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("takes no answer after its time, also where no sweep has closed it yet", () => {
    const { options } = clients({ config: { park_ms: 10, sweep_ms: 3_600_000 } })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* requested(run)
      yield* TestClock.adjust(1_000)
      assert.strictEqual((yield* Effect.flip(answer(approval)))._tag, "ApprovalExpired")
      const all = yield* H.ended(run)
      const outcome = H.outcome(all)
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.reason, "CLIENT_TIMEOUT")
      assert.strictEqual((yield* Effect.flip(answer(approval)))._tag, "ApprovalExpired")
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("is closed by a cancel of its run", () => {
    const { options } = clients()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* requested(run)
      yield* TestClock.adjust(10)
      yield* H.cancel(run)
      const all = yield* H.ended(run)
      assert.deepStrictEqual(H.outcome(all), { _tag: "Cancelled" })
      assert.strictEqual((yield* Effect.flip(answer(approval)))._tag, "ApprovalSettled")
      yield* assertReplays(run)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("counts as a question of its run, and runs once where a turn proposes it twice", () => {
    const { options } = clients({
      agent: { limits: RunLimits.make({ questions_max: 1 }) },
      script: ({ transcript }) =>
        transcript.length === 1
          ? calls([call("pick", { n: 1 }), call("pick", { n: 1 }), call("pick", { n: 2 })])
          : text("done")
    })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* requested(run)
      yield* answer(approval)
      const all = yield* H.ended(run)
      assert.strictEqual(H.count(all, "ClientRequested"), 1)
      const reasons = H.settled(all).map(({ call: id, outcome }) => [
        id,
        outcome._tag === "Failed" ? outcome.error.reason : outcome._tag
      ])
      assert.deepStrictEqual(reasons.sort(), [
        ["0/1.0", "Value"],
        ["0/1.1", "DUPLICATE_CALL"],
        ["0/1.2", "QUESTIONS_MAX"]
      ])
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("takes a result of 1,000,000 bytes as JSON, and none of more", () => {
    const { options } = clients()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* requested(run)
      for (const result of [
        "x".repeat(999_999),
        "ü".repeat(499_999) + "x",
        ["x".repeat(999_997)]
      ]) {
        const error = yield* Effect.flip(answer(approval, { result: result as never }))
        assert.strictEqual(error._tag, "ClientResultRefused")
        assert.include(error.message, "at most 1000000 bytes")
      }
      yield* answer(approval, { result: "ü".repeat(499_999) as never })
      assert.deepInclude(H.end(yield* H.ended(run)), { status: "complete" })
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("takes no answer where its record is not what the run asked", () => {
    const { options } = clients()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* requested(run)
      const stored = (yield* EphemeralStore).pending.get(approval)!
      const before = stored.record
      for (const change of [
        { arguments: { n: 8 } },
        { client: { output_schema: { type: "number" } } },
        { client: {} }
      ]) {
        stored.record = { ...before, ...change }
        const error = yield* Effect.flip(answer(approval, { result: 5 as never }))
        assert.strictEqual(error._tag, "ApprovalAltered", JSON.stringify(change))
      }
      stored.record = before
      yield* answer(approval)
      assert.deepInclude(H.end(yield* H.ended(run)), { status: "complete" })
    }).pipe(Effect.provide(H.layer(options)))
  })
})
