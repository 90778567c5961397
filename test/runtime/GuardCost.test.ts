/** What a guard that answers at once does not cost: an append of its own, or a signal that nobody reads. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Guard, Subject, Verdict } from "../../src/agent/Guard.ts"
import { DeclaredGuards } from "../../services/AgentDirectory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { guard, layer, said } from "./GuardScenes.ts"
import * as H from "./Harness.ts"

const options: H.Options = {
  tools: { look: H.reads((n) => Effect.succeed(n)) },
  script: [call("look", { n: 1 }), text("done")]
}

/** The events of a run under these guards, and their kinds by append of its loop. */
const appendsOf = (guards: ReadonlyArray<Guard>) =>
  Effect.gen(function* () {
    const appends: Array<ReadonlyArray<string>> = []
    const booted = H.withJournal(H.boot(options), (journal) => ({
      append: (request) => {
        appends.push(request.events.map(({ _tag }) => _tag))
        return journal.append(request)
      }
    }))
    const process = yield* Effect.provideService(booted, DeclaredGuards, guards)
    const events = yield* process.run(Effect.flatMap(H.send("hello"), H.ended))
    return { appends, events }
  })

describe("guards that answer at once", () => {
  it.live("make a run take as many appends as without them", () =>
    Effect.gen(function* () {
      const plain = yield* appendsOf([])
      const passes = (): Verdict => ({ verdict: "pass" })
      const guarded = yield* appendsOf([guard("all", ["message", "result", "answer"], passes)])
      assert.deepStrictEqual(said(guarded.events), [
        "message all pass",
        "result all pass",
        "answer all pass"
      ])
      assert.deepStrictEqual(plain.appends, [
        ["ModelTurned", "CallSettled"],
        ["ModelTurned", "RunEnded"]
      ])
      assert.deepStrictEqual(guarded.appends, [
        ["Guarded", "ModelTurned", "CallSettled"],
        ["Guarded", "Guarded", "ModelTurned", "RunEnded"]
      ])
    }).pipe(Effect.provide(EphemeralStores.layer))
  )

  it.live(
    "and keep the signal of a subject see it aborted, also where they first read it later",
    () => {
      const subjects: Array<Subject> = []
      const signals: Array<AbortSignal> = []
      const keeps = guard("keeps", ["message", "result"], (subject): Verdict => {
        subjects.push(subject)
        if (subject.on === "message") signals.push(subject.signal)
        assert.isTrue(signals.every(({ aborted }) => aborted === (subject.on === "result")))
        return { verdict: "pass" }
      })
      return Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        assert.deepStrictEqual(said(all), ["message keeps pass", "result keeps pass"])
        assert.deepStrictEqual(
          subjects.map(({ signal }) => signal.aborted),
          [true, true]
        )
        assert.strictEqual(subjects[0]!.signal, signals[0])
      }).pipe(Effect.provide(layer(options, keeps)))
    }
  )
})
