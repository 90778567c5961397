import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Outbox } from "../../services/Outbox.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

describe("two processes that find the same run", () => {
  it.effect(
    "run it once, in the process that claims it first, whose write is not interrupted",
    () => {
      let paid = 0
      const gate = Deferred.makeUnsafe<number>()
      const options: H.Options = {
        tools: {
          pay: H.writes(() =>
            Effect.andThen(
              Effect.sync(() => paid++),
              Deferred.await(gate)
            )
          )
        },
        script: ({ transcript }) =>
          transcript.length === 1 ? call("pay", { n: 1 }) : text("done"),
        config: { drain_ms: 0 }
      }
      return Effect.gen(function* () {
        // It looks at once, and comes to its claim a second later.
        const slow = yield* H.withJournal(H.boot(options), ({ claim }) => ({
          claim: (...args) => Effect.andThen(Effect.sleep(1_000), claim(...args)),
          recoverable: () => Effect.succeed([])
        }))
        const run = yield* slow.run(H.send("hello"))
        yield* TestClock.adjust(500)
        const quick = yield* H.boot(options)
        yield* quick.run(H.happened(run, "CallDispatched"))
        yield* TestClock.adjust(2_000)
        assert.strictEqual(H.count(yield* H.events(run), "RunClaimed"), 1)
        yield* Deferred.succeed(gate, 1)
        const all = yield* quick.run(H.ended(run))
        assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: "1" })
        assert.strictEqual(H.count(all, "CallUnknown"), 0)
        assert.strictEqual(paid, 1)
      }).pipe(Effect.provide(EphemeralStores.layer))
    }
  )
})

describe("a conversation that two processes serve in turn", () => {
  it.effect("is complete for each of them", () => {
    const options: H.Options = { script: () => text("noted"), config: { sweep_ms: 3_600_000 } }
    return Effect.gen(function* () {
      const outbox = yield* Outbox
      /** A process that is handed messages only while it has the turn. */
      const boot = Effect.fnUntraced(function* () {
        const turn = { mine: true }
        const process = yield* Effect.provideService(H.boot(options), Outbox, {
          ...outbox,
          claim: (claim) => Effect.suspend(() => (turn.mine ? outbox.claim(claim) : nothing))
        })
        return { process, turn }
      })
      const nothing = Effect.succeed([])
      const a = yield* boot()
      yield* a.process.run(Effect.flatMap(H.send("one"), (run) => H.ended(run)))
      a.turn.mine = false
      const b = yield* boot()
      yield* b.process.run(Effect.flatMap(H.send("two"), (run) => H.ended(run)))
      b.turn.mine = false
      a.turn.mine = true
      yield* a.process.run(Effect.flatMap(H.send("three"), (run) => H.ended(run)))
      const last = (yield* a.process.run(H.requests)).at(-1)
      assert.deepStrictEqual(
        last?.history.flatMap((entry) => (entry.role === "user" ? [entry.text] : [])),
        ["one", "two"]
      )
    }).pipe(Effect.provide(EphemeralStores.layer))
  })
})
