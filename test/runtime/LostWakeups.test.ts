/**
 * Wakeups between processes that are lost, as when the connection that listens for them is: what they were about is found
 * by the sweep, also of a run that its actor holds, and by nothing slower.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import * as H from "./Harness.ts"

const sweep_ms = 1_000
/** Nothing but the sweep comes within a test. */
const never_ms = 3_600_000
const config = { sweep_ms, lease_ms: 60_000, park_ms: never_ms, idle_ms: never_ms, drain_ms: 0 }

/** Hears nothing of what others do. */
const deaf = (options: H.Options) =>
  H.withJournal(H.boot(options), () => ({ onAmended: () => Effect.void }))

/** Looks for nothing, so that the runs are the other one's. */
const idle = (options: H.Options) =>
  H.withJournal(H.boot(options), () => ({
    recoverable: () => Effect.succeed([]),
    adopt: () => Effect.succeed([])
  }))

const asking = (body: H.Body = (n) => Effect.succeed(n)): H.Options => ({
  tools: { pay: H.asks(body) },
  script: ({ transcript }) => (transcript.length === 1 ? call("pay", { n: 1 }) : text("done")),
  config
})

const isOver = (run: Parameters<typeof H.events>[0]) =>
  Effect.map(H.events(run), (all) => H.count(all, "RunEnded") === 1)

describe("a wakeup between processes that is lost", () => {
  it.effect("of a decision is made up for at the next sweep, though the run is resident", () =>
    Effect.gen(function* () {
      const owner = yield* deaf(asking())
      const run = yield* owner.run(H.send("hello"))
      const { approval } = yield* owner.run(H.question(run))
      const other = yield* idle(asking())
      yield* other.run(H.decide(approval, H.approve))
      assert.isFalse(yield* isOver(run))
      yield* TestClock.adjust(sweep_ms)
      const all = yield* H.events(run)
      assert.deepInclude(H.end(all), { status: "complete" })
      assert.strictEqual(H.count(all, "RunClaimed"), 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.effect(
    "of a cancel is made up for once wakeups arrive again: work in flight is interrupted",
    () => {
      const begun = Deferred.makeUnsafe<void>()
      let interrupted = false
      const options: H.Options = {
        tools: {
          slow: H.reads(() =>
            Effect.onInterrupt(
              Effect.andThen(Deferred.succeed(begun, undefined), Effect.never),
              () => Effect.sync(() => void (interrupted = true))
            )
          )
        },
        script: () => call("slow", { n: 1 }),
        config
      }
      return Effect.gen(function* () {
        let heard: (run: undefined) => void = () => {}
        const owner = yield* H.withJournal(H.boot(options), () => ({
          onAmended: (listener) => Effect.sync(() => void (heard = listener))
        }))
        const run = yield* owner.run(H.send("hello"))
        yield* owner.run(H.happened(run, "ModelTurned"))
        yield* Deferred.await(begun)
        const other = yield* idle(options)
        yield* other.run(AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "enough")))
        yield* TestClock.adjust(sweep_ms)
        assert.isFalse(interrupted)
        heard(undefined)
        yield* TestClock.adjust(1)
        assert.isTrue(interrupted)
        assert.deepInclude(H.end(yield* H.events(run)), { status: "cancelled" })
      }).pipe(Effect.provide(EphemeralStores.layer))
    }
  )

  it.effect("of a cancel is made up for at the next sweep: the next message begins", () => {
    const script: H.Options["script"] = ({ transcript }) =>
      JSON.stringify(transcript).includes("first") ? call("slow", { n: 1 }) : text("done")
    const options: H.Options = { tools: { slow: H.reads(() => Effect.never) }, script, config }
    return Effect.gen(function* () {
      const owner = yield* deaf(options)
      const run = yield* owner.run(H.send("first"))
      yield* owner.run(H.happened(run, "ModelTurned"))
      const other = yield* idle(options)
      yield* other.run(AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "enough")))
      yield* other.stop
      const next = yield* owner.run(H.send("second"))
      yield* TestClock.adjust(2 * sweep_ms)
      assert.deepInclude(H.end(yield* H.events(next)), { status: "complete" })
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect(
    "of a decision beside a running call is made up for at the next sweep: the decided call runs",
    () => {
      const gate = Deferred.makeUnsafe<void>()
      let paid = 0
      const options: H.Options = {
        tools: {
          slow: H.reads((n) => Effect.as(Deferred.await(gate), n)),
          pay: H.asks((n) => Effect.sync(() => (paid++, n)))
        },
        script: ({ transcript }) =>
          transcript.length === 1
            ? calls([call("slow", { n: 1 }), call("pay", { n: 2 })])
            : text("done"),
        config
      }
      return Effect.gen(function* () {
        const owner = yield* deaf(options)
        const run = yield* owner.run(H.send("hello"))
        const { approval } = yield* owner.run(H.question(run))
        const other = yield* idle(options)
        yield* other.run(H.decide(approval, H.approve))
        yield* TestClock.adjust(sweep_ms)
        assert.strictEqual(paid, 1)
        yield* Deferred.succeed(gate, undefined)
        assert.deepInclude(H.end(yield* owner.run(H.ended(run))), { status: "complete" })
      }).pipe(Effect.provide(EphemeralStores.layer))
    }
  )

  it.effect(
    "of a run that another process took and ended is made up for at the next sweep: the next message begins",
    () =>
      Effect.gen(function* () {
        let beats = 0
        const owner = yield* H.withJournal(H.boot(asking()), (journal) => ({
          onAmended: () => Effect.void,
          // It says once that it lives: it hangs, and then goes on.
          heartbeat: (name, ms) => (beats++ === 0 ? journal.heartbeat(name, ms) : Effect.void),
          adopt: () => Effect.succeed([])
        }))
        const run = yield* owner.run(H.send("one"))
        const { approval } = yield* owner.run(H.question(run))
        const heir = yield* H.boot(asking())
        yield* TestClock.adjust(config.lease_ms + sweep_ms)
        yield* heir.run(H.decide(approval, H.approve))
        yield* heir.run(H.ended(run))
        yield* heir.stop
        const next = yield* owner.run(H.send("two"))
        yield* TestClock.adjust(2 * sweep_ms)
        assert.strictEqual(H.count(yield* H.events(next), "ApprovalRequested"), 1)
      }).pipe(Effect.provide(EphemeralStores.layer))
  )
})
