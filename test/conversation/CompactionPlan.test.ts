import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { Past } from "../../src/conversation/Compaction.ts"
import {
  cutTranscript,
  shownPast,
  fitTokens,
  summaryRecord
} from "../../src/conversation/Compaction.ts"
import type { Bounds, Plan, Prompt } from "../../src/conversation/CompactionPlan.ts"
import { planCompaction, summarisedBy } from "../../src/conversation/CompactionPlan.ts"
import { sizeOf } from "../../src/conversation/PromptSize.ts"
import { estimateTokens } from "../../src/conversation/TokenEstimate.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import { RunEvent } from "../../src/run/RunEvent.ts"
import { either } from "../Long.ts"
import { seeded } from "../run/Interleaving.ts"

const words = ["alpha ", '{"id":17,"ok":true} ', "今日は良い", "naïve ", "0x1F4A9 ", "😀"]

/** A prompt of any shape, the same for a seed. */
const promptOf = (seed: number): { readonly prompt: Prompt; readonly bounds: Bounds } => {
  const random = seeded(seed)
  const below = (n: number) => Math.floor(random() * n)
  const prose = (most: number) =>
    Array.from({ length: below(most) }, () => words[below(words.length)]!).join("")
  const steps = (count: number): ReadonlyArray<TranscriptEntry> =>
    Array.from({ length: count }, (_, at) => {
      const calls = Array.from({ length: 1 + below(3) }, () => ({
        model_id: `call_${below(3)}`,
        name: "read",
        arguments: { q: prose(10) }
      }))
      const results = calls.map(({ model_id, name }, index): TranscriptEntry => ({
        role: "tool",
        call: callId(rootFrame, at + 1, index),
        model_id,
        name,
        outcome:
          random() < 0.8
            ? { _tag: "Value", json: prose(random() < 0.1 ? 1_500 : 60) }
            : { _tag: "Denied", by: "ada", reason: "no" }
      }))
      return [{ role: "assistant" as const, text: prose(20), calls }, ...results]
    }).flat()
  const ordinals = below(12)
  const chapters = Array.from({ length: ordinals }, (_, at) => ({
    ordinal: at + 1,
    units: 0,
    entries: [
      { role: "user" as const, text: prose(40) },
      ...steps(below(3)),
      ...(random() < 0.8 ? [{ role: "assistant" as const, text: prose(40), calls: [] }] : [])
    ]
  }))
  const dropped = below(ordinals + 1)
  const elided = Math.max(dropped, below(ordinals + 1))
  const past: Past = {
    chapters,
    cut: random() < 0.5 ? undefined : { dropped, elided }
  }
  const taken = below(12)
  return {
    prompt: {
      fixed: below(400),
      past,
      transcript: [{ role: "user", text: prose(60) }, ...steps(taken)],
      cut: undefined,
      step: taken
    },
    bounds: {
      context_tokens_max: 1 + below(random() < 0.3 ? 300 : 12_000),
      history_tokens_max: 1 + below(6_000),
      summary_tokens_max: 0,
      refused: random() < 0.2
    }
  }
}

const applied = (prompt: Prompt, { history, own }: Plan): Prompt => ({
  ...prompt,
  past: history === undefined ? prompt.past : { ...prompt.past, cut: history },
  ...(own === undefined
    ? undefined
    : { cut: own, transcript: cutTranscript(prompt.transcript, prompt.step, prompt.cut, own) })
})

const entriesOf = (prompt: Prompt) => [...shownPast(prompt.past), ...prompt.transcript]

const tokensOf = (prompt: Prompt) => prompt.fixed + sizeOf(entriesOf(prompt), estimateTokens)

const assertPairs = (entries: ReadonlyArray<TranscriptEntry>) => {
  let open: Array<string> = []
  for (const entry of entries) {
    if (entry.role === "tool") assert.strictEqual(open.shift(), entry.model_id)
    else assert.deepStrictEqual(open, [])
    if (entry.role === "assistant") open = entry.calls.map((call) => call.model_id)
  }
  assert.deepStrictEqual(open, [])
}

/** Nothing is left that may go: no earlier run, no step but the last, no result in it that can be cut. */
const isLeast = (prompt: Prompt): boolean =>
  prompt.past.chapters.every((each) => each.ordinal <= (prompt.past.cut?.dropped ?? 0)) &&
  prompt.transcript.filter((entry) => entry.role === "assistant").length <= 1 &&
  prompt.transcript.every(
    (entry) =>
      entry.role !== "tool" || entry.outcome._tag !== "Value" || entry.outcome.json.length <= 512
  )

const seeds = Array.from({ length: either(150, 400) }, (_, seed) => seed)

describe("a plan for any prompt and any bound", () => {
  it("keeps the bound, or the least possible prompt, with the message and no call without its result", () => {
    let cuts = 0
    for (const seed of seeds) {
      const { bounds, prompt } = promptOf(seed)
      const found = planCompaction(prompt, bounds, estimateTokens)
      const after = found === undefined ? prompt : applied(prompt, found)
      if (found !== undefined) {
        cuts++
        assert.strictEqual(found.tokens_before, tokensOf(prompt), `seed ${seed}`)
        assert.strictEqual(found.tokens_after, tokensOf(after), `seed ${seed}`)
      }
      assertPairs(entriesOf(after))
      assert.strictEqual(after.transcript[0], prompt.transcript[0])
      const isWithin = tokensOf(after) <= bounds.context_tokens_max
      assert.isTrue(isWithin || isLeast(after), `seed ${seed}: ${tokensOf(after)}`)
      // The calls and results of the last step stay; its results may be cut.
      const last = prompt.transcript.findLastIndex((entry) => entry.role === "assistant")
      const tail = last < 0 ? 0 : prompt.transcript.length - last
      assert.deepStrictEqual(
        after.transcript.slice(after.transcript.length - tail).map((entry) => entry.role),
        prompt.transcript.slice(prompt.transcript.length - tail).map((entry) => entry.role)
      )
    }
    assert.isAbove(cuts, 100)
  })

  it("changes nothing within the bounds, and nothing that is cut already", () => {
    for (const seed of seeds) {
      const made = promptOf(seed)
      const bounds = { ...made.bounds, refused: false }
      const found = planCompaction(made.prompt, bounds, estimateTokens)
      const after = found === undefined ? made.prompt : applied(made.prompt, found)
      assert.isUndefined(planCompaction(after, bounds, estimateTokens), `seed ${seed}`)
    }
  })

  it("lets a prompt only grow at its end between two cuts", () => {
    for (const seed of seeds.slice(0, 100)) {
      const { bounds, prompt } = promptOf(seed)
      const found = planCompaction(prompt, bounds, estimateTokens)
      if (found?.own === undefined) continue
      const once = applied(prompt, found).transcript
      const grown = [...prompt.transcript, { role: "assistant" as const, text: "more", calls: [] }]
      const own = { ...found.own }
      // The same cut, applied a step later, gives the same prompt, except for results of the last step that it had cut.
      if (own.capped !== undefined) continue
      assert.deepStrictEqual(
        cutTranscript(grown, prompt.step + 1, undefined, own).slice(0, -1),
        once
      )
    }
  })

  it("keeps the bounds with a summary, which stands for all that is dropped", () => {
    for (const seed of seeds) {
      const { bounds, prompt } = promptOf(seed)
      const found = planCompaction(prompt, { ...bounds, summary_tokens_max: 100 }, estimateTokens)
      if (found === undefined || found.dropped.length === 0) continue
      const said = fitTokens("what was said ".repeat(500), 100, estimateTokens)
      const summed = summarisedBy(found, said, prompt, estimateTokens)
      const after = applied(prompt, summed)
      assert.strictEqual(summed.tokens_after, tokensOf(after))
      assertPairs(entriesOf(after))
      const texts = entriesOf(after).map((entry) => (entry.role === "user" ? entry.text : ""))
      assert.strictEqual(texts.filter((text) => text.includes(said)).length, 1, `seed ${seed}`)
      assert.isTrue(tokensOf(after) <= bounds.context_tokens_max + 200 || isLeast(after))
    }
  })

  it("asks for a summary in a text of bounded length", () => {
    for (const seed of seeds.slice(0, 100)) {
      const { prompt } = promptOf(seed)
      for (const most of [0, 50, 1_000]) {
        const text = summaryRecord(entriesOf(prompt), most, estimateTokens)
        assert.isAtMost(estimateTokens(text), most + 50)
      }
    }
  })
})

describe("Compacted", () => {
  it("is encoded and decoded, and older events are still decoded", () => {
    const event: RunEvent = {
      _tag: "Compacted",
      frame: rootFrame,
      step: 4,
      cause: "bound",
      how: "summarised",
      history: { dropped: 3, elided: 5, summary: { through: 3, text: "they met" } },
      own: { dropped: 1, elided: 2, capped: 256 },
      tokens_before: 9_000,
      tokens_after: 4_000,
      tokens_max: 8_000,
      usage: { input_tokens: 1, output_tokens: 2 }
    }
    const json = Schema.fromJsonString(RunEvent)
    const stored = Schema.encodeUnknownSync(json)(event)
    assert.deepStrictEqual(Schema.decodeUnknownSync(json)(stored), event)
    const older = `{"_tag":"ModelTurned","frame":"0","step":1,"text":"","calls":[],"finish":"stop"}`
    assert.strictEqual(Schema.decodeUnknownSync(json)(older)._tag, "ModelTurned")
  })
})
