import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

describe("a governed run", () => {
  it.live("runs a read tool and answers, with one terminal event", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      const all = yield* H.ended(run)
      assert.deepStrictEqual(
        all.map((event) => event._tag),
        ["RunAccepted", "RunClaimed", "ModelTurned", "CallSettled", "ModelTurned", "RunEnded"]
      )
      const [settled] = H.settled(all)
      assert.deepStrictEqual(settled?.outcome, { _tag: "Value", json: "3" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            add: { governance: { side_effects: "read" }, body: (n) => Effect.succeed(n + 1) }
          },
          script: [call("add", { n: 2 }), text("three")]
        })
      )
    )
  )
})
