import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import type { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { fold } from "../../src/run/RunFold.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { ModelError } from "../../services/ModelGateway.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, fails, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const page = "The quick brown fox jumps over the lazy dog. ".repeat(40)

/** Reads so many pages, then says how many. */
const reads =
  (pages: number): ((request: ModelRequest) => ReturnType<typeof text>) =>
  (request) =>
    request.purpose === "summary"
      ? text(`summary of ${request.transcript[0]?.role === "user" ? "a record" : "nothing"}`, {
          usage: { input_tokens: 7, output_tokens: 3 }
        })
      : request.step <= pages
        ? call("page", { n: request.step })
        : text(`read ${request.step - 1}`)

const tools = { page: H.reads((n) => Effect.succeed(`${n}: ${page}`)) }

const compactions = (events: ReadonlyArray<RunEvent>) =>
  events.filter((event) => event._tag === "Compacted")

/** What a provider asks of a prompt: it begins with a user, and each call is followed by its result, in order. */
const assertValid = (request: ModelRequest): void => {
  const all = [...request.history, ...request.transcript]
  assert.strictEqual(all[0]?.role, "user")
  let open: Array<string> = []
  for (const entry of all) {
    if (entry.role === "tool") assert.strictEqual(open.shift(), entry.model_id)
    else assert.deepStrictEqual(open, [])
    if (entry.role === "assistant") open = entry.calls.map((each) => each.model_id)
  }
  assert.deepStrictEqual(open, [])
}

/** Is the prompt nothing but the one before it with more at its end? */
const extendsPrompt = (before: ModelRequest, after: ModelRequest): boolean => {
  const [a, b] = [before, after].map((each): ReadonlyArray<TranscriptEntry> => [
    ...each.history,
    ...each.transcript
  ])
  return a!.every((entry, i) => JSON.stringify(entry) === JSON.stringify(b![i]))
}

const bounded = (more: Partial<Parameters<typeof AgentSpec.make>[0]> = {}) => ({
  context_tokens_max: 3_000,
  limits: RunLimits.make({ steps_max: 200 }),
  ...more
})

describe("compaction", () => {
  it.live(
    "the prompt of a run of 60 long results stays within its bound, and changes only where it is cut",
    () =>
      Effect.gen(function* () {
        const events = yield* H.ended(yield* H.send("read all"))
        assert.deepInclude(H.end(events), { status: "complete", text: "read 60" })
        const cuts = compactions(events)
        assert.isAbove(cuts.length, 2)
        assert.isBelow(cuts.length, 30)
        for (const cut of cuts) assert.isAtMost(cut.tokens_after, 3_000)
        const asked = yield* H.requests
        let changed = 0
        for (const [i, request] of asked.entries()) {
          assertValid(request)
          assert.deepInclude(request.transcript[0], { role: "user", text: "read all" })
          if (i > 0 && !extendsPrompt(asked[i - 1]!, request)) changed++
        }
        assert.strictEqual(changed, cuts.length)
        // The journal keeps what the prompt leaves out.
        const whole = H.settled(events).filter(
          ({ outcome }) => outcome._tag === "Value" && outcome.json.includes(page)
        )
        assert.strictEqual(whole.length, 60)
      }).pipe(Effect.provide(H.layer({ tools, script: reads(60), agent: bounded() })))
  )

  it.live("a summary replaces what is cut, and its tokens count", () =>
    Effect.gen(function* () {
      const events = yield* H.ended(yield* H.send("read all"))
      assert.deepInclude(H.end(events), { status: "complete", text: "read 20" })
      const cuts = compactions(events)
      assert.isAbove(cuts.length, 1)
      for (const cut of cuts) {
        assert.strictEqual(cut.how, "summarised")
        assert.deepStrictEqual(cut.usage, { input_tokens: 7, output_tokens: 3 })
        assert.isAtMost(cut.tokens_after, 3_000)
      }
      const asked = yield* H.requests
      const summaries = asked.filter((each) => each.purpose === "summary")
      assert.strictEqual(summaries.length, cuts.length)
      for (const each of summaries) assert.deepStrictEqual(each.tools, [])
      const last = asked.at(-1)!
      assertValid(last)
      assert.deepInclude(last.transcript[0], { text: "read all" })
      const note = last.transcript[1]
      assert.include(note?.role === "user" ? note.text : "", "summary of a record")
      const state = fold(events)
      assert.strictEqual(state.tokens, 10 * cuts.length)
      assert.strictEqual(state.steps, 21)
    }).pipe(
      Effect.provide(
        H.layer({ tools, script: reads(20), agent: bounded({ compaction: "summarise" }) })
      )
    )
  )

  it.live("without a summary from the model the prompt is truncated, and the event says why", () =>
    Effect.gen(function* () {
      const events = yield* H.ended(yield* H.send("read all"))
      assert.deepInclude(H.end(events), { status: "complete", text: "read 12" })
      const [first] = compactions(events)
      assert.deepInclude(first, { how: "truncated" })
      assert.include(first?.fallback, "overloaded")
    }).pipe(
      Effect.provide(
        H.layer({
          tools,
          agent: bounded({ compaction: "summarise" }),
          script: (request) =>
            request.purpose === "summary" ? fails("transient", "overloaded") : reads(12)(request)
        })
      )
    )
  )

  const tooLong = Exit.fail(
    new ModelError({ kind: "refused", reason: "context_length", message: "400: too long" })
  )
  /** A provider whose window is smaller than the agent says. */
  const narrow =
    (results_max: number, script: ReturnType<typeof reads>): H.Options["script"] =>
    (request) => {
      const whole = H.resultsShown(request).filter((each) => each.includes(page))
      return whole.length > results_max ? tooLong : script(request)
    }

  it.live("a prompt that the provider refuses as too long is cut once and sent again", () =>
    Effect.gen(function* () {
      const events = yield* H.ended(yield* H.send("read all"))
      assert.deepInclude(H.end(events), { status: "complete", text: "read 9" })
      const cuts = compactions(events)
      assert.isAbove(cuts.length, 0)
      assert.strictEqual(cuts[0]?.cause, "refused")
      const refused = (yield* H.requests).filter(
        (request) => H.resultsShown(request).filter((each) => each.includes(page)).length > 3
      )
      // What was refused once is not tried again.
      assert.strictEqual(refused.length, 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools,
          script: narrow(3, reads(9)),
          agent: bounded({ context_tokens_max: 90_000 })
        })
      )
    )
  )

  it.live("a prompt that stays too long fails the run with the provider's reason", () =>
    Effect.gen(function* () {
      const events = yield* H.ended(yield* H.send("read all"))
      assert.deepInclude(H.end(events), { status: "failed", reason: "model_refused" })
      assert.isAtMost(compactions(events).length, 1)
    }).pipe(Effect.provide(H.layer({ tools, script: narrow(-1, reads(9)), agent: bounded() })))
  )
})

describe("compaction of a conversation", () => {
  /** Answers at length, and knows what it is shown. */
  const talk: H.Options["script"] = (request) =>
    request.purpose === "summary" ? text("they talked") : text(`answer ${page}`)
  const agent = (compaction: "truncate" | "summarise") =>
    bounded({ history_tokens_max: 2_000, context_tokens_max: 50_000, compaction })

  for (const compaction of ["truncate", "summarise"] as const) {
    it.live(`${compaction}: later runs begin after the last cut, in another process too`, () =>
      Effect.gen(function* () {
        const first = yield* H.boot({ script: talk, agent: agent(compaction) })
        for (let n = 1; n <= 9; n++)
          yield* first.run(Effect.flatMap(H.send(`message ${n}`), H.ended))
        const asked = yield* first.run(H.requests)
        const turns = asked.filter((each) => each.purpose === undefined)
        let changed = 0
        for (let n = 1; n < turns.length; n++) {
          assertValid(turns[n]!)
          if (!extendsPrompt(turns[n - 1]!, turns[n]!)) changed++
        }
        assert.isAbove(changed, 0)
        assert.isBelow(changed, 5)
        const note = turns.at(-1)!.history[0]
        const words = compaction === "truncate" ? "are left out here" : "they talked"
        assert.include(note?.role === "user" ? note.text : "", words)
        yield* first.stop

        const second = yield* H.boot({ script: talk, agent: agent(compaction) })
        yield* second.run(Effect.flatMap(H.send("message 10"), H.ended))
        const seen = (yield* second.run(H.requests)).filter((each) => each.purpose === undefined)
        assert.isTrue(extendsPrompt(turns.at(-1)!, seen[0]!))
        assert.strictEqual((yield* second.run(H.requests)).length, 1)
      }).pipe(Effect.provide(EphemeralStores.layer))
    )
  }
})
