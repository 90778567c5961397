import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { originOfCall } from "../../src/memory/MemoryRow.ts"
import { Supervision } from "../../src/agent/AgentSpec.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { JournalError } from "../../services/RunJournal.ts"
import { ofSoleWriter, StorePace } from "../../services/StorePace.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"
import * as WholeJournal from "../contracts/WholeJournal.ts"

/** A journal whose appends of one run die as often as it is told. */
const breaking = (journal: WholeJournal.WholeJournal) => {
  const state = { run: undefined as RunId | undefined, left: 0, broken: 0 }
  const service: WholeJournal.WholeJournal = {
    ...journal,
    append: (request) =>
      Effect.suspend(() => {
        if (request.run !== state.run || state.left === 0) return journal.append(request)
        state.left--
        state.broken++
        return Effect.die("the journal broke")
      })
  }
  return { state, service }
}

/** Lets time pass until something is so; what is never so ends with the test's own time. */
const untilTime = (is: () => boolean) =>
  Effect.repeat(TestClock.adjust(100), { until: () => Effect.sync(is) })

const actors = AgentRuntime.use((runtime) => runtime.actors(100))

describe("supervision", () => {
  it.effect(
    "SA-51 an actor that crashes starts again from its journal, and other actors run on",
    () => {
      const gates = new Map([
        ["c-1", Deferred.makeUnsafe<void>()],
        ["c-2", Deferred.makeUnsafe<void>()]
      ])
      const options: H.Options = {
        tools: { look: H.reads((n) => Effect.succeed(n)) },
        script: ({ transcript }) => {
          const [first] = transcript
          const key = first?.role === "user" ? first.text : ""
          return transcript.length === 1
            ? Effect.as(Deferred.await(gates.get(key)!), call("look", { n: 1 }))
            : text("done")
        }
      }
      return Effect.gen(function* () {
        const { service, state } = breaking(yield* WholeJournal.journal)
        const process = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
        const a = yield* process.run(H.send("c-1", "c-1"))
        const b = yield* process.run(H.send("c-2", "c-2"))
        yield* process.run(H.happened(a, "RunClaimed"))
        yield* process.run(H.happened(b, "RunClaimed", 1, "c-2"))
        state.run = a
        state.left = 2
        yield* Deferred.succeed(gates.get("c-1")!, undefined)
        // While one is down, the other works.
        yield* Deferred.succeed(gates.get("c-2")!, undefined)
        assert.deepInclude(H.end(yield* process.run(H.ended(b, "c-2"))), { status: "complete" })
        assert.strictEqual(H.count(yield* H.events(a), "RunEnded"), 0)
        yield* untilTime(() => state.broken === 2)
        yield* TestClock.adjust(1_000)
        const all = yield* process.run(H.ended(a))
        assert.deepInclude(H.end(all), { status: "complete" })
        assert.strictEqual(state.broken, 2)
        assert.strictEqual(H.count(all, "RunClaimed"), 3)
        const [actor] = (yield* process.run(actors)).filter(({ address }) => address.key === "c-1")
        assert.strictEqual(actor?.restarts, 2)
      }).pipe(Effect.provide(EphemeralStores.layer))
    }
  )

  it.effect("an actor that crashes too often is stopped, and its run fails with a reason", () => {
    const gate = Deferred.makeUnsafe<void>()
    const options: H.Options = {
      script: () => Effect.as(Deferred.await(gate), text("done")),
      agent: { supervision: Supervision.make({ restarts_max: 2, window_ms: 60_000 }) }
    }
    return Effect.gen(function* () {
      const { service, state } = breaking(yield* WholeJournal.journal)
      const process = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
      const run = yield* process.run(H.send("hello"))
      yield* process.run(H.happened(run, "RunClaimed"))
      state.run = run
      state.left = 99
      yield* Deferred.succeed(gate, undefined)
      yield* untilTime(() => state.broken === 3)
      const all = yield* process.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "failed", reason: "restart_intensity_exceeded" })
      assert.strictEqual(state.broken, 3)
      const task = yield* TaskStore.use((tasks) => tasks.get(run))
      assert.deepInclude(task, { status: "failed", reason: "restart_intensity_exceeded" })
      const [actor] = yield* process.run(actors)
      assert.deepInclude(actor, { state: "stopped", run })
      // A new message is a new beginning.
      const next = yield* process.run(H.send("again"))
      assert.deepInclude(H.end(yield* process.run(H.ended(next))), { status: "complete" })
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect(
    "what waits behind an actor that crashes too often goes on, where no store is polled",
    () => {
      const gate = Deferred.makeUnsafe<void>()
      const options: H.Options = {
        script: () => Effect.as(Deferred.await(gate), text("done")),
        agent: { supervision: Supervision.make({ restarts_max: 1 }) }
      }
      return Effect.gen(function* () {
        const { service, state } = breaking(yield* WholeJournal.journal)
        const process = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
        const run = yield* process.run(H.send("first"))
        yield* process.run(H.happened(run, "RunClaimed"))
        const next = yield* process.run(H.send("second"))
        state.run = run
        state.left = 99
        yield* Deferred.succeed(gate, undefined)
        yield* untilTime(() => state.broken === 2)
        yield* TestClock.adjust("1 minute")
        assert.deepInclude(H.end(yield* H.events(next)), { status: "complete" })
      }).pipe(Effect.provideService(StorePace, ofSoleWriter), Effect.provide(EphemeralStores.layer))
    }
  )

  it.effect("an actor whose journal did not answer starts again when it answers", () => {
    const options: H.Options = {
      script: () => text("done"),
      agent: { supervision: Supervision.make({ restarts_max: 2 }) }
    }
    return Effect.gen(function* () {
      let away = 3
      const process = yield* H.withJournal(H.boot(options), ({ begin }) => ({
        begin: (...args) =>
          Effect.suspend(() =>
            away-- > 0
              ? Effect.fail(new JournalError({ message: "away", lost: true }))
              : begin(...args)
          )
      }))
      const run = yield* process.run(H.send("hello"))
      yield* untilTime(() => away <= 0)
      yield* TestClock.adjust(10_000)
      assert.deepInclude(H.end(yield* process.run(H.ended(run))), { status: "complete" })
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect("a write that ends while the journal is away for a minute has its result, once", () => {
    const gate = Deferred.makeUnsafe<void>()
    let begun = 0
    const options: H.Options = {
      tools: { pay: H.writes((n) => (begun++, Effect.as(Deferred.await(gate), n))) },
      script: ({ transcript }) =>
        transcript.some(({ role }) => role === "tool") ? text("done") : call("pay", { n: 1 })
    }
    return Effect.gen(function* () {
      let isAway = false
      const unlessAway = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.suspend((): Effect.Effect<A, E | JournalError> =>
          isAway ? Effect.fail(new JournalError({ message: "away", lost: true })) : effect
        )
      const process = yield* H.withJournal(H.boot(options), (journal) => ({
        append: (append) => unlessAway(journal.append(append)),
        read: (...args) => unlessAway(journal.read(...args)),
        claim: (...args) => unlessAway(journal.claim(...args)),
        head: (...args) => unlessAway(journal.head(...args))
      }))
      const run = yield* process.run(H.send("hello"))
      yield* process.run(H.happened(run, "CallDispatched"))
      isAway = true
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("1 minute")
      isAway = false
      const all = yield* process.run(H.asTimePasses(H.ended(run)))
      assert.deepInclude(H.end(all), { status: "complete" })
      assert.isFalse(all.some(({ _tag }) => _tag === "CallUnknown"))
      assert.strictEqual(begun, 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect(
    "an actor that crashed too often does not fail a run that another process has claimed",
    () => {
      const gates = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
      let asked = 0
      const options: H.Options = {
        script: () => Effect.as(Deferred.await(gates[asked++]!), text("done")),
        agent: { supervision: Supervision.make({ restarts_max: 0 }) },
        config: { lease_ms: 1_000, sweep_ms: 500 }
      }
      return Effect.gen(function* () {
        const { service, state } = breaking(yield* WholeJournal.journal)
        let beats = 0
        const hanging = yield* Effect.provide(
          H.boot(options),
          WholeJournal.context({
            ...service,
            heartbeat: (owner, ms) => (beats++ === 0 ? service.heartbeat(owner, ms) : Effect.void),
            recoverable: () => Effect.succeed([])
          })
        )
        const run = yield* hanging.run(H.send("hello"))
        yield* hanging.run(H.happened(run, "RunClaimed"))
        const heir = yield* H.boot(options)
        yield* TestClock.adjust(2_000)
        yield* heir.run(H.happened(run, "RunClaimed", 2))
        state.run = run
        state.left = 1
        yield* Deferred.succeed(gates[0]!, undefined)
        yield* untilTime(() => state.broken === 1)
        yield* Deferred.succeed(gates[1]!, undefined)
        const all = yield* heir.run(H.ended(run))
        assert.deepInclude(H.end(all), { status: "complete" })
        assert.strictEqual(H.count(all, "RunClaimed"), 2)
      }).pipe(Effect.provide(EphemeralStores.layer))
    }
  )

  it.effect("an actor that is stopped while a write is in flight leaves the write unknown", () => {
    const options: H.Options = {
      tools: { pay: H.writes((n) => Effect.as(Effect.sleep(10), n)) },
      script: ({ transcript }) => (transcript.length === 1 ? call("pay", { n: 1 }) : text("done")),
      agent: { supervision: Supervision.make({ restarts_max: 0 }) }
    }
    return Effect.gen(function* () {
      const { service, state } = breaking(yield* WholeJournal.journal)
      const process = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
      const run = yield* process.run(H.send("hello"))
      yield* process.run(H.happened(run, "CallDispatched"))
      state.run = run
      state.left = 99
      yield* TestClock.adjust(10_000)
      const all = yield* process.run(H.ended(run))
      assert.deepInclude(H.end(all), { status: "failed", reason: "restart_intensity_exceeded" })
      assert.deepStrictEqual(H.outcome(all), { _tag: "Unknown" })
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect("an idle actor leaves the process, and its next message starts it again", () =>
    Effect.gen(function* () {
      yield* H.ended(yield* H.send("one"))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(
        (yield* actors).map(({ state }) => state),
        ["idle"]
      )
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* actors, [])
      yield* H.ended(yield* H.send("two"))
      assert.strictEqual((yield* H.requests)[1]?.history.length, 2)
    }).pipe(Effect.provide(H.layer({ script: () => text("ok"), config: { idle_ms: 1_000 } })))
  )

  it.effect("SA-51 SA-02 each address has a memory of its own, which outlives its actor", () => {
    const tools = {
      remember: {
        governance: { side_effects: "none" },
        body: (n, call) =>
          AgentMemory.use((memory) => {
            const note = { text: `remembered ${n}`, tier: "session" } as const
            return Effect.as(Effect.orDie(memory.remember(note, originOfCall(call))), null)
          })
      },
      recall: {
        governance: { side_effects: "read" },
        body: () =>
          AgentMemory.use((memory) =>
            Effect.map(Effect.orDie(memory.list("session", { limit: 10 })), (all) =>
              all.map(({ text: said }) => said)
            )
          )
      }
    } satisfies Record<string, H.TestTool>
    const told = (conversation: string, message: string) =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send(message, conversation), conversation)
        const outcome = H.outcome(all)
        return outcome?._tag === "Value" ? JSON.parse(outcome.json) : outcome
      })
    return Effect.gen(function* () {
      yield* told("c-1", "remember")
      assert.deepStrictEqual(yield* told("c-2", "recall"), [])
      assert.deepStrictEqual(yield* told("c-1", "recall"), ["remembered 1"])
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* actors, [])
      assert.deepStrictEqual(yield* told("c-1", "recall"), ["remembered 1"])
    }).pipe(
      Effect.provide(
        H.layer({
          tools,
          script: ({ transcript }) => {
            const [first] = transcript
            return transcript.length > 1
              ? text("ok")
              : call(first?.role === "user" ? first.text : "", { n: 1 })
          },
          config: { idle_ms: 1_000 }
        })
      )
    )
  })
})
