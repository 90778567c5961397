import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { RunLimits } from "../../src/run/RunLimits.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "../runtime/Harness.ts"
import { onEngines } from "./Engines.ts"

const page = "The quick brown fox jumps over the lazy dog. ".repeat(40)

/** Reads twelve pages, then asks a person, then answers. */
const script: H.Options["script"] = (request) =>
  request.purpose === "summary"
    ? text("pages were read", { usage: { input_tokens: 7, output_tokens: 3 } })
    : request.step <= 12
      ? call("page", { n: request.step })
      : request.step === 13
        ? call("stamp", { n: 1 })
        : text("done")

const options: H.Options = {
  script,
  tools: {
    page: H.reads((n) => Effect.succeed(`${n}: ${page}`)),
    stamp: H.asks(() => Effect.succeed("stamped"))
  },
  agent: {
    context_tokens_max: 3_000,
    compaction: "summarise",
    limits: RunLimits.make({ steps_max: 50 })
  }
}

onEngines("a run whose prompt was cut", (it) => {
  it.effect("goes on in a new process from the journaled summary, and asks for it no more", () =>
    Effect.gen(function* () {
      const first = yield* H.boot(options)
      const run = yield* first.run(H.send("read all"))
      const asked = yield* first.run(H.question(run))
      const before = yield* first.run(H.requests)
      assert.isAbove(before.filter((each) => each.purpose === "summary").length, 0)
      yield* first.stop

      const second = yield* H.boot(options)
      yield* second.run(H.decide(asked.approval, H.approve))
      const events = yield* second.run(H.ended(run))
      assert.deepInclude(H.end(events), { status: "complete", text: "done" })
      const after = yield* second.run(H.requests)
      assert.deepStrictEqual(
        after.map((each) => each.purpose),
        [undefined]
      )
      // The prompt is the old one with the last step at its end.
      const last = before.at(-1)!.transcript
      assert.deepStrictEqual(after[0]!.transcript.slice(0, last.length), last)
      const note = last[1]
      assert.include(note?.role === "user" ? note.text : "", "pages were read")
    }).pipe(Effect.provide(EphemeralStore.layer))
  )
})
