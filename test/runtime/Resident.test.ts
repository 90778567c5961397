import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { JournalError } from "../../services/RunJournal.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { Supervision } from "../../src/agent/AgentSpec.ts"
import * as H from "./Harness.ts"
import * as WholeJournal from "../contracts/WholeJournal.ts"

const away = Effect.fail(new JournalError({ message: "away", lost: true }))

describe("an actor that was stopped while the journal did not answer", () => {
  it.effect("is found again by the sweep, and its run ends", () => {
    const options: H.Options = {
      script: () => text("done"),
      agent: { supervision: Supervision.make({ restarts_max: 2 }) },
      config: { sweep_ms: 1_000 }
    }
    return Effect.gen(function* () {
      const journal = yield* WholeJournal.journal
      // Claimed once, and from then on nobody can say which runs there are.
      let claims = 1
      let looks = 0
      const service: WholeJournal.WholeJournal = {
        ...journal,
        begin: (beginning, owner) =>
          claims-- > 0
            ? Effect.andThen(
                journal.begin(beginning, owner),
                Effect.sync(() => void (looks = 2)).pipe(Effect.andThen(away))
              )
            : journal.begin(beginning, owner),
        unfinished: (tenant, address, limit) =>
          looks-- > 0 ? away : journal.unfinished(tenant, address, limit)
      }
      const process = yield* Effect.provide(H.boot(options), WholeJournal.context(service))
      const run = yield* process.run(H.send("hello"))
      for (let i = 0; i < 200; i++) yield* TestClock.adjust(100)
      const all = yield* H.events(run)
      assert.deepInclude(H.end(all), { status: "complete" })
      assert.strictEqual(H.count(all, "RunClaimed"), 2)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })
})
