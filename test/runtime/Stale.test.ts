import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { RunJournal, StaleAppend } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { makeWakeup } from "../../layers/runtime/loop/RunWakeup.ts"
import { RunWriter } from "../../layers/runtime/loop/RunWriter.ts"
import { fold } from "../../src/run/RunFold.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "./Harness.ts"

/** A writer whose appends are always refused as stale, and how often it tried. */
const refused = Effect.fnUntraced(function* () {
  const journal = yield* RunJournal
  const reader = yield* RunReader
  const { run } = yield* Samples.begin()
  let tries = 0
  const host = {
    journal: RunJournal.of({
      ...journal,
      append: () =>
        Effect.suspend(() => {
          tries++
          return Effect.fail(new StaleAppend({ run_id: run, length: 2 }))
        })
    }),
    reader,
    onDurable: () => {},
    onAmended: () => {}
  }
  const state = fold((yield* reader.read(run, 0, 10)).map(({ event }) => event))
  const wakeup = makeWakeup()
  return { writer: new RunWriter(host, run, state, wakeup), tries: () => tries }
})

describe("an append that is refused as stale again and again", () => {
  it.effect("fails with a typed error after 8 tries if the journal stays as it was", () =>
    Effect.gen(function* () {
      const { tries, writer } = yield* refused()
      const stopping = { status: "failed", by: "runtime", reason: "enough" } as const
      const exit = yield* H.asTimePasses(Effect.exit(writer.write([{ _tag: "Stops", stopping }])))
      assert.isTrue(Exit.isFailure(exit))
      assert.include(String(exit), "refused 8 times")
      assert.strictEqual(tries(), 8)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
})
