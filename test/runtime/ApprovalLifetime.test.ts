import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { RunId } from "../../src/value/Ids.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { JournalError } from "../../services/RunJournal.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

/** A tool that asks, and a script that any process can take up. */
const gated = (more: Partial<H.Options> = {}, expires_ms?: number) => {
  const ran: Array<number> = []
  const options: H.Options = {
    tools: {
      replay: H.asks(
        (n) => Effect.sync(() => ran.push(n)),
        expires_ms === undefined ? {} : { approval_expires_ms: expires_ms }
      )
    },
    script: ({ transcript }) => (transcript.length === 1 ? call("replay", { n: 7 }) : text("done")),
    ...more
  }
  return { ran, options }
}

const states = AgentRuntime.use((runtime) =>
  Effect.map(runtime.actors(100), (actors) => actors.map(({ state }) => state))
)

describe("a question outlives the fiber that asked it", () => {
  it.effect("ST-34 ST-04 a stop leaves it pending, and another process runs the body once", () => {
    const { options, ran } = gated()
    return Effect.gen(function* () {
      const first = yield* H.boot(options)
      const run = yield* first.run(H.send("hello"))
      const { approval } = yield* first.run(H.question(run))
      yield* first.stop
      const record = yield* ApprovalRecords.use((records) => records.get(approval))
      assert.strictEqual(record?.status, "pending")
      assert.deepStrictEqual(ran, [])

      const second = yield* H.boot(options)
      assert.strictEqual((yield* second.run(H.pending)).length, 1)
      yield* second.run(H.decide(approval, H.approve))
      const all = yield* second.run(H.ended(run))
      assert.deepStrictEqual(ran, [7])
      assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
      assert.strictEqual(H.count(all, "CallDispatched"), 1)
      assert.strictEqual(H.end(all)?.status, "complete")
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect(
    "ST-34 it is pending while its run is parked, and the decision starts the run again",
    () => {
      const { options, ran } = gated({ config: { park_ms: 10 } })
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval } = yield* H.question(run)
        assert.deepStrictEqual(yield* states, ["running"])
        yield* TestClock.adjust(10)
        assert.deepStrictEqual(yield* states, ["parked"])
        assert.strictEqual((yield* H.pending).length, 1)
        yield* H.decide(approval, H.approve)
        const all = yield* H.ended(run)
        assert.deepStrictEqual(ran, [7])
        assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
        assert.strictEqual(H.count(all, "CallDispatched"), 1)
      }).pipe(Effect.provide(H.layer(options)))
    }
  )

  it.effect("sweeps and later messages change nothing of a run that waits for a person", () => {
    const { options, ran } = gated({ config: { park_ms: 10, sweep_ms: 100 } })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      const later = yield* H.send("and this")
      yield* TestClock.adjust(10)
      for (let i = 0; i < 20; i++) yield* TestClock.adjust(100)
      assert.strictEqual(H.count(yield* H.events(run), "RunClaimed"), 1)
      assert.deepStrictEqual(yield* states, ["parked"])
      yield* H.decide(approval, H.deny)
      const all = yield* H.ended(run)
      assert.strictEqual(H.count(all, "RunClaimed"), 2)
      yield* H.happened(later, "ApprovalRequested")
      assert.deepStrictEqual(ran, [])
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("a cancel ends a parked run, which no process has", () => {
    const { options, ran } = gated({ config: { park_ms: 10 } })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.question(run)
      yield* TestClock.adjust(10)
      yield* AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "enough"))
      const all = yield* H.ended(run)
      assert.deepInclude(H.end(all), { status: "cancelled" })
      assert.deepStrictEqual(yield* H.pending, [])
      assert.deepStrictEqual(ran, [])
      yield* TestClock.adjust(10)
      assert.notInclude(yield* states, "parked")
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("a cancel of a parked run starts the message behind it at once", () => {
    const { options } = gated({ config: { park_ms: 10, sweep_ms: 3_600_000 } })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const next = yield* H.send("again")
      yield* H.question(run)
      yield* TestClock.adjust(20)
      assert.include(yield* states, "parked")
      yield* H.cancel(run)
      yield* H.question(next)
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("SM-59 it expires without an answer in time, which is not a denial", () => {
    const { options, ran } = gated({ config: { sweep_ms: 100 } }, 1_000)
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      yield* TestClock.adjust(900)
      assert.strictEqual((yield* H.pending).length, 1)
      yield* TestClock.adjust(200)
      const all = yield* H.ended(run)
      assert.deepStrictEqual(H.outcome(all), { _tag: "Expired" })
      const closed = all.find((event) => event._tag === "ApprovalClosed")
      assert.deepInclude(closed, { how: "expired", by: "system:expiry" })
      const [shown] = H.resultsShown((yield* H.requests)[1])
      assert.match(shown!, /^approval_rejected: .*APPROVAL_EXPIRED.*timed out/)
      const late = yield* Effect.flip(H.decide(approval, H.approve))
      assert.deepInclude(late, { _tag: "ApprovalExpired", id: approval })
      assert.include(String(late), `approval ${approval} expired at 1970-01-01T00:00:01.000Z`)
      assert.deepStrictEqual(ran, [])
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("each of several expires at its own time, however seldom the runtime sweeps", () => {
    const rare = { park_ms: 10, sweep_ms: 3_600_000, lease_ms: 86_400_000 }
    const { options } = gated({ config: rare }, 60_000)
    return Effect.gen(function* () {
      const isOver = (run: RunId) =>
        Effect.map(H.events(run), (all) => H.count(all, "RunEnded") === 1)
      const first = yield* H.send("hello")
      yield* H.question(first)
      yield* TestClock.adjust(20_000)
      const second = yield* H.send("hello", "c-2")
      yield* H.question(second, 1, "c-2")
      yield* TestClock.adjust(39_999)
      assert.isFalse(yield* isOver(first))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual([yield* isOver(first), yield* isOver(second)], [true, false])
      yield* TestClock.adjust(19_999)
      assert.isFalse(yield* isOver(second))
      yield* TestClock.adjust(1)
      assert.isTrue(yield* isOver(second))
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("SM-59 it expires for a parked run, and the run continues", () => {
    const { options, ran } = gated({ config: { park_ms: 10, sweep_ms: 100 } }, 1_000)
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.question(run)
      yield* TestClock.adjust(1_200)
      const all = yield* H.ended(run)
      assert.deepStrictEqual(H.outcome(all), { _tag: "Expired" })
      assert.strictEqual(H.end(all)?.status, "complete")
      assert.deepStrictEqual(ran, [])
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect(
    "one that cannot be closed keeps no other from expiring, and no run from its sweep",
    () => {
      const { options } = gated({ config: { sweep_ms: 100 } }, 1_000)
      return Effect.gen(function* () {
        let broken: RunId | undefined
        let swept = 0
        const process = yield* H.withJournal(H.boot(options), ({ amend, recoverable }) => ({
          amend: (run, command) =>
            run === broken
              ? Effect.fail(new JournalError({ message: "cannot be read", lost: false }))
              : amend(run, command),
          recoverable: (owner, agents, limit) =>
            Effect.tap(recoverable(owner, agents, limit), () => Effect.sync(() => swept++))
        }))
        broken = yield* process.run(H.send("hello"))
        yield* process.run(H.question(broken))
        const other = yield* process.run(H.send("hello", "c-2"))
        yield* process.run(H.question(other, 1, "c-2"))
        yield* TestClock.adjust(900)
        const before = swept
        yield* TestClock.adjust(300)
        assert.isAbove(swept, before)
        const all = yield* process.run(H.ended(other, "c-2"))
        assert.deepStrictEqual(H.outcome(all), { _tag: "Expired" })
      }).pipe(Effect.provide(EphemeralStores.layer))
    }
  )

  it.effect("a decision after its time is refused also before a sweep has closed it", () => {
    const { options, ran } = gated({ config: { sweep_ms: 1_000_000 } }, 1_000)
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      yield* TestClock.adjust(1_000)
      const late = yield* Effect.flip(H.decide(approval, H.approve))
      assert.strictEqual(late._tag, "ApprovalExpired")
      const all = yield* H.ended(run)
      assert.deepStrictEqual(H.outcome(all), { _tag: "Expired" })
      assert.deepStrictEqual(ran, [])
    }).pipe(Effect.provide(H.layer(options)))
  })

  it.effect("an approval under another policy version is asked again", () => {
    const { options, ran } = gated()
    return Effect.gen(function* () {
      const first = yield* H.boot(options)
      const run = yield* first.run(H.send("hello"))
      const { approval } = yield* first.run(H.question(run))
      yield* first.stop
      const second = yield* H.boot({ ...options, policy_version: "2" })
      yield* second.run(H.decide(approval, H.approve))
      const again = yield* second.run(H.question(run, 2))
      assert.notStrictEqual(again.approval, approval)
      assert.strictEqual(again.policy_version, "2")
      assert.deepStrictEqual(ran, [])
      yield* second.run(H.decide(again.approval, H.approve))
      yield* second.run(H.ended(run))
      assert.deepStrictEqual(ran, [7])
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect("an approval whose tool has changed is asked again, with the new description", () => {
    const { options, ran } = gated()
    const replay = options.tools!["replay"]!
    const governance = { ...replay.governance, effect_description: "Changes all of them." }
    return Effect.gen(function* () {
      const first = yield* H.boot(options)
      const run = yield* first.run(H.send("hello"))
      const { approval } = yield* first.run(H.question(run))
      yield* first.stop
      const second = yield* H.boot({ ...options, tools: { replay: { ...replay, governance } } })
      yield* second.run(H.decide(approval, H.approve))
      const again = yield* second.run(H.question(run, 2))
      assert.strictEqual(again.payload.effect_description, "Changes all of them.")
      assert.deepStrictEqual(ran, [])
      yield* second.run(H.decide(again.approval, H.approve))
      yield* second.run(H.ended(run))
      assert.deepStrictEqual(ran, [7])
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect("SA-14 the task of a run that waits for a person is processing", () => {
    const { options } = gated()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.question(run)
      const task = yield* TaskStore.use((tasks) => tasks.get(run))
      assert.strictEqual(task?.status, "processing")
    }).pipe(Effect.provide(H.layer(options)))
  })
})
