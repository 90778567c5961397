import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import * as H from "./Harness.ts"
import * as WholeJournal from "../contracts/WholeJournal.ts"

const config = { lease_ms: 1_000, sweep_ms: 500 }

/** The journal of a process that can lose it: from then on nothing it asks is ever answered. */
const mortal = (journal: WholeJournal.WholeJournal) => {
  const state = { dead: false }
  const answered =
    <Args extends ReadonlyArray<unknown>, A, E, R>(
      method: (...args: Args) => Effect.Effect<A, E, R>
    ) =>
    (...args: Args): Effect.Effect<A, E, R> =>
      Effect.suspend(() => (state.dead ? Effect.never : method(...args)))
  const service: WholeJournal.WholeJournal = {
    ...journal,
    append: answered(journal.append),
    heartbeat: answered(journal.heartbeat),
    // The dead do not give up their lease; their remains must still be cleared away at the test's end.
    release: (owner) => (state.dead ? Effect.void : journal.release(owner)),
    claim: answered(journal.claim),
    recoverable: answered(journal.recoverable)
  }
  return { service, die: () => void (state.dead = true) }
}

const inOrder = (all: ReadonlyArray<RunEvent>) => all.map((event) => event._tag)

describe("a run whose process dies", () => {
  it.effect("redoes a read, and ends once", () => {
    let ran = 0
    const options: H.Options = {
      tools: {
        slow: H.reads((n) => Effect.suspend(() => (++ran === 1 ? Effect.never : Effect.succeed(n))))
      },
      script: ({ transcript }) => (transcript.length === 1 ? call("slow", { n: 1 }) : text("done")),
      config: { ...config, drain_ms: 0 }
    }
    return Effect.gen(function* () {
      const { die, service } = mortal(yield* WholeJournal.journal)
      const first = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
      const run = yield* first.run(H.send("hello"))
      yield* first.run(H.happened(run, "ModelTurned"))
      die()
      const second = yield* H.boot(options)
      yield* TestClock.adjust(2_000)
      const all = yield* second.run(H.ended(run))
      assert.strictEqual(ran, 2)
      assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: "1" })
      assert.strictEqual(H.count(all, "RunClaimed"), 2)
      assert.strictEqual(H.count(all, "RunEnded"), 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect("does not repeat a dispatched write, which is unknown until it is settled", () => {
    let ran = 0
    const options: H.Options = {
      tools: {
        pay: H.writes(() =>
          Effect.andThen(
            Effect.sync(() => ran++),
            Effect.never
          )
        )
      },
      script: ({ transcript }) => (transcript.length === 1 ? call("pay", { n: 1 }) : text("done")),
      config: { ...config, drain_ms: 0 }
    }
    return Effect.gen(function* () {
      const { die, service } = mortal(yield* WholeJournal.journal)
      const first = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
      const run = yield* first.run(H.send("hello"))
      yield* first.run(H.happened(run, "CallDispatched"))
      die()
      const second = yield* H.boot(options)
      yield* TestClock.adjust(2_000)
      yield* second.run(H.happened(run, "CallUnknown"))
      assert.strictEqual(ran, 1)
      const runtime = yield* second.run(AgentRuntime)
      const asked = H.settled(yield* H.events(run))
      assert.deepStrictEqual(asked, [])
      yield* runtime.interrupt(run, H.alice, "give it up")
      const all = yield* second.run(H.ended(run))
      assert.deepStrictEqual(H.outcome(all), { _tag: "Unknown" })
      assert.strictEqual(ran, 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect("sends an idempotent write again with the same key, and asks no operator", () => {
    const keys: Array<string | undefined> = []
    const options: H.Options = {
      tools: {
        pay: H.asks(
          (n, { key }) =>
            Effect.suspend(() => (keys.push(key) === 1 ? Effect.never : Effect.succeed(n))),
          { idempotent: true }
        )
      },
      script: ({ transcript }) => (transcript.length === 1 ? call("pay", { n: 1 }) : text("done")),
      config: { ...config, drain_ms: 0 }
    }
    return Effect.gen(function* () {
      const { die, service } = mortal(yield* WholeJournal.journal)
      const first = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
      const run = yield* first.run(H.send("hello"))
      const { approval } = yield* first.run(H.question(run))
      yield* first.run(H.decide(approval, H.approve))
      yield* first.run(H.happened(run, "CallDispatched"))
      die()
      const second = yield* H.boot(options)
      yield* TestClock.adjust(2_000)
      const all = yield* second.run(H.ended(run))
      assert.strictEqual(keys.length, 2)
      assert.strictEqual(keys[0], keys[1])
      assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
      assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: "1" })
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect(
    "continues elsewhere when its lease lapses, and the first process is fenced off",
    () => {
      const gates = [Deferred.makeUnsafe<string>(), Deferred.makeUnsafe<string>()]
      let ran = 0
      const options: H.Options = {
        tools: { slow: H.reads(() => Effect.suspend(() => Deferred.await(gates[ran++]!))) },
        script: ({ transcript }) =>
          transcript.length === 1 ? call("slow", { n: 1 }) : text("done"),
        config
      }
      return Effect.gen(function* () {
        const journal = yield* WholeJournal.journal
        let beats = 0
        // It says once that it lives, and never again: it hangs, and then goes on.
        const heartbeat: typeof journal.heartbeat = (owner, ms) =>
          beats++ === 0 ? journal.heartbeat(owner, ms) : Effect.void
        const zombie = yield* Effect.provide(
          H.boot(options),
          WholeJournal.context({
            ...journal,
            heartbeat,
            recoverable: () => Effect.succeed([])
          })
        )
        const run = yield* zombie.run(H.send("hello"))
        yield* zombie.run(H.happened(run, "ModelTurned"))
        const owner = yield* H.boot(options)
        yield* TestClock.adjust(2_000)
        assert.strictEqual(ran, 2)
        yield* Deferred.succeed(gates[0]!, "of the zombie")
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(H.settled(yield* H.events(run)), [])
        const left = yield* zombie.run(AgentRuntime.use((runtime) => runtime.actors(10)))
        assert.deepStrictEqual(left, [])
        yield* Deferred.succeed(gates[1]!, "of the owner")
        const all = yield* owner.run(H.ended(run))
        assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: '"of the owner"' })
        assert.deepStrictEqual(inOrder(all), [
          "RunAccepted",
          "RunClaimed",
          "ModelTurned",
          "RunClaimed",
          "CallSettled",
          "ModelTurned",
          "RunEnded"
        ])
      }).pipe(Effect.provide(EphemeralStores.layer))
    }
  )

  it.effect(
    "is recovered at the next start, oldest first, with its waiting messages behind it",
    () => {
      const gate = Deferred.makeUnsafe<void>()
      let second = false
      const options: H.Options = {
        tools: {
          slow: H.reads((n) => (second ? Effect.succeed(n) : Effect.as(Deferred.await(gate), n)))
        },
        script: ({ transcript }) =>
          transcript.length === 1 ? call("slow", { n: 1 }) : text("done"),
        config: { ...config, drain_ms: 0 }
      }
      return Effect.gen(function* () {
        const first = yield* H.boot(options)
        const runs = [
          yield* first.run(H.send("one")),
          yield* first.run(H.send("two")),
          yield* first.run(H.send("three"))
        ]
        yield* first.run(H.happened(runs[0]!, "ModelTurned"))
        yield* first.stop
        second = true
        const next = yield* H.boot(options)
        for (const run of runs) {
          const all = yield* next.run(H.ended(run))
          assert.deepInclude(H.end(all), { status: "complete" })
          assert.strictEqual(H.count(all, "RunEnded"), 1)
        }
        const messages = yield* ConversationStore.use((store) =>
          store.messages(H.tenant, ConversationId.make("c-1"), -1, 100)
        )
        assert.strictEqual(messages.filter(({ role }) => role === "assistant").length, 3)
      }).pipe(Effect.provide(EphemeralStores.layer))
    }
  )

  it.effect("keeps the results that siblings had, and the question of the call that waited", () => {
    let reads = 0
    const options: H.Options = {
      tools: {
        look: H.reads((n) => Effect.sync(() => (reads++, n))),
        pay: H.asks((n) => Effect.succeed(n))
      },
      script: ({ transcript }) =>
        transcript.length === 1
          ? calls([call("pay", { n: 1 }), call("look", { n: 2 })])
          : text("done"),
      config: { ...config, drain_ms: 0 }
    }
    return Effect.gen(function* () {
      const { die, service } = mortal(yield* WholeJournal.journal)
      const first = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
      const run = yield* first.run(H.send("hello"))
      const { approval } = yield* first.run(H.question(run))
      yield* first.run(H.happened(run, "CallSettled"))
      die()
      const second = yield* H.boot(options)
      yield* second.run(H.decide(approval, H.approve))
      yield* TestClock.adjust(2_000)
      const all = yield* second.run(H.ended(run))
      assert.strictEqual(reads, 1)
      assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
      assert.strictEqual(H.count(all, "CallSettled"), 2)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect("redoes what ran beside a question before the question is answered", () => {
    let reads = 0
    const options: H.Options = {
      tools: {
        look: H.reads((n) =>
          Effect.suspend(() => (++reads === 1 ? Effect.never : Effect.succeed(n)))
        ),
        pay: H.asks((n) => Effect.succeed(n))
      },
      script: ({ transcript }) =>
        transcript.length === 1
          ? calls([call("pay", { n: 1 }), call("look", { n: 2 })])
          : text("done"),
      config: { ...config, drain_ms: 0 }
    }
    return Effect.gen(function* () {
      const { die, service } = mortal(yield* WholeJournal.journal)
      const first = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
      const run = yield* first.run(H.send("hello"))
      yield* first.run(H.question(run))
      die()
      const second = yield* H.boot(options)
      yield* TestClock.adjust(2_000)
      yield* second.run(H.happened(run, "CallSettled"))
      assert.strictEqual(reads, 2)
      assert.strictEqual((yield* second.run(H.pending)).length, 1)
      assert.strictEqual(H.count(yield* H.events(run), "ApprovalRequested"), 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })
})
