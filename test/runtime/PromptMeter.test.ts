import { assert, describe, it } from "@effect/vitest"
import { chapterOf, withChapter } from "../../layers/runtime/actor/History.ts"
import * as PromptMeter from "../../layers/runtime/loop/PromptMeter.ts"
import type { ResolvedAgent } from "../../services/AgentDirectory.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Chapter, Past } from "../../src/conversation/Compaction.ts"
import { no_past, pastUnits, shownPast } from "../../src/conversation/Compaction.ts"
import { sizeOf } from "../../src/conversation/PromptSize.ts"
import { estimateTokens } from "../../src/conversation/TokenEstimate.ts"
import { AgentName, rootFrame } from "../../src/value/Ids.ts"
import { frameOf } from "../../src/run/RunState.ts"
import * as Scenes from "../run/Scenes.ts"

const results = 60
const json = JSON.stringify({ text: "a result of some length, in words" })

const agentWith = (context_tokens_max: number): ResolvedAgent => ({
  spec: AgentSpec.make({ name: AgentName.make("a"), instructions: "", context_tokens_max }),
  tools: new Map(),
  specialists: new Map(),
  modelTools: [],
  pins: { definition: "", tools: "" }
})

/** A run whose first turn made so many calls, each with a result. */
const answered = () => {
  const play = Scenes.started({ calls_max: 1_000 })
  Scenes.proposes(play, results)
  for (const call of frameOf(play.state, rootFrame).calls) {
    Scenes.ends(play, call, { _tag: "Value", json })
  }
  return play.state
}

describe("the meter of a run's prompts", () => {
  it("says that a prompt is over its bound exactly where its counted tokens are", () => {
    const state = answered()
    const frame = frameOf(state, rootFrame)
    const fixed = PromptMeter.make({ count: estimateTokens }).of(agentWith(1)).fixed
    const exact = fixed + sizeOf(frame.transcript, estimateTokens)
    for (const [most, isOver] of [
      [exact - 1, true],
      [exact, false],
      [exact * 2, false],
      [1, true]
    ] as const) {
      const meter = new PromptMeter.PromptMeter(
        PromptMeter.make({ count: estimateTokens }),
        no_past
      )
      const agent = agentWith(most)
      // The second look takes what the first one has counted.
      assert.strictEqual(meter.isOver(state, agent, frame), isOver, `${most} of ${exact}`)
      assert.strictEqual(meter.isOver(state, agent, frame), isOver, `${most} of ${exact}, again`)
    }
  })

  it("counts no more entries than it takes until the bound of the others fits", () => {
    const state = answered()
    const frame = frameOf(state, rootFrame)
    const exact = sizeOf(frame.transcript, estimateTokens)
    const countedOf = (context_tokens_max: number): number => {
      let counted = 0
      const count = (text: string) => {
        if (text === json) counted++
        return estimateTokens(text)
      }
      const meter = new PromptMeter.PromptMeter(PromptMeter.make({ count }), no_past)
      assert.isFalse(meter.isOver(state, agentWith(context_tokens_max), frame))
      return counted
    }
    assert.strictEqual(countedOf(1_000_000), 0)
    const some = countedOf(Math.ceil(exact * 2))
    assert.isAbove(some, 0)
    assert.isBelow(some, results)
  })

  it("counts an earlier run once for all runs that are shown it", () => {
    const state = answered()
    const frame = frameOf(state, rootFrame)
    const counted: Array<string> = []
    const weights = PromptMeter.make({
      count: (text) => {
        counted.push(text)
        return estimateTokens(text)
      }
    })
    const earlier = chapterOf(1, [{ role: "user", text: "what was said before" }])
    const isOver = () => {
      const meter = new PromptMeter.PromptMeter(weights, { chapters: [earlier], cut: undefined })
      return meter.isOver(state, agentWith(1_000_000), frame)
    }
    assert.isFalse(isOver())
    assert.isFalse(isOver())
    assert.deepStrictEqual(
      counted.filter((text) => text === "what was said before"),
      ["what was said before"]
    )
  })

  it("takes the past of the next run from what it knew of the one before", () => {
    const state = answered()
    const frame = frameOf(state, rootFrame)
    const weights = PromptMeter.make({ count: estimateTokens })
    const { fixed } = weights.of(agentWith(1))
    const chapter = (ordinal: number) =>
      chapterOf(ordinal, [
        { role: "user", text: `question ${ordinal}`.repeat((ordinal % 5) + 1) },
        { role: "assistant", text: "answer", calls: [] }
      ])
    let past: Past = no_past
    for (let ordinal = 1; ordinal <= 40; ordinal++) {
      const cut = ordinal % 13 === 0 ? { dropped: ordinal - 6, elided: ordinal - 4 } : undefined
      // Some runs end before they ask how much there is.
      if (ordinal % 7 !== 0) {
        const fresh = { chapters: past.chapters, cut: past.cut }
        const exact =
          fixed +
          sizeOf(shownPast(fresh), estimateTokens) +
          sizeOf(frame.transcript, estimateTokens)
        const isOver = (most: number) =>
          new PromptMeter.PromptMeter(weights, past).isOver(state, agentWith(most), frame)
        assert.deepStrictEqual([isOver(exact - 1), isOver(exact)], [true, false], `${ordinal}`)
        const shown = new PromptMeter.PromptMeter(weights, past).history(state, frame)
        assert.deepStrictEqual(shown, shownPast(fresh))
      }
      past = withChapter(past, chapter(ordinal), cut, false)
      const units = past.chapters.reduce((sum, each) => sum + each.units, 0)
      assert.strictEqual(pastUnits(past), units)
    }
    assert.isBelow(past.chapters.length, 20)
  })

  it("looks at no chapter of a long conversation again", () => {
    const state = answered()
    const frame = frameOf(state, rootFrame)
    const weights = PromptMeter.make({ count: estimateTokens })
    let looked = 0
    const watched = (ordinal: number): Chapter => {
      const chapter = chapterOf(ordinal, [{ role: "user", text: `question ${ordinal}` }])
      return new Proxy(chapter, {
        get: (target, name) => {
          looked++
          return Reflect.get(target, name)
        }
      })
    }
    let past: Past = no_past
    const counts: Array<number> = []
    for (let ordinal = 1; ordinal <= 50; ordinal++) {
      looked = 0
      const meter = new PromptMeter.PromptMeter(weights, past)
      assert.isFalse(meter.isOver(state, agentWith(1_000_000), frame))
      meter.history(state, frame)
      past = withChapter(past, watched(ordinal), undefined, false)
      pastUnits(past)
      counts.push(looked)
    }
    assert.strictEqual(counts[49], counts[9])
  })
})
