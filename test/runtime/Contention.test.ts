import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

describe("two processes that find the same run", () => {
  it.effect("leave it to the one that claims it first, whose write goes on", () => {
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
      script: ({ transcript }) => (transcript.length === 1 ? call("pay", { n: 1 }) : text("done")),
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
  })
})
