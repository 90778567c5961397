import { assert, describe, it } from "@effect/vitest"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import type { Play } from "./Interleaving.ts"
import { give } from "./Interleaving.ts"
import {
  added,
  compaction,
  ends,
  first,
  priced,
  proposal,
  proposes,
  says,
  started
} from "./Scenes.ts"

describe("a prompt", () => {
  const compacts = (play: Play, given: Parameters<typeof compaction>[0] = {}) =>
    added(play, () => give(play, { _tag: "Compacts", compaction: compaction(given) }))

  it("is cut once before a turn, and once more if its provider still refuses it", () => {
    const play = started()
    const cut = (cause: "bound" | "refused", step = 1) => compacts(play, { cause, step }).length
    assert.deepStrictEqual(compacts(play), [{ _tag: "Compacted", ...compaction() }])
    assert.strictEqual(cut("bound"), 0)
    assert.isUndefined(play.state.frames.get(rootFrame)!.tokens_refused)
    assert.strictEqual(cut("refused"), 1)
    assert.strictEqual(play.state.frames.get(rootFrame)!.tokens_refused, 90)
    assert.strictEqual(cut("refused"), 0)
    assert.strictEqual(cut("bound"), 0)
    proposes(play, 1)
    ends(play, first)
    assert.strictEqual(cut("refused", 1), 0)
    assert.strictEqual(cut("refused", 2), 1)
    assert.strictEqual(cut("refused", 2), 0)
  })

  it("that was summarised costs what the summary cost, and the summary is no step", () => {
    const play = started({ cost_max: "9" })
    compacts(play, {
      how: "summarised",
      usage: { input_tokens: 7, output_tokens: 3 },
      cost: priced("0.5")
    })
    const { steps, tokens, used } = play.state
    assert.deepStrictEqual(
      [steps, tokens, used.turn_tokens_most, String(used.cost)],
      [0, 10, 10, String(used.turn_cost_most)]
    )
    assert.isDefined(used.cost)
    compacts(play, { cause: "refused" })
    assert.strictEqual(play.state.tokens, 10)
    assert.strictEqual(play.state.used.unpriced_turns, 0)
  })

  it("leaves out of its own transcript and of the past what the cut names", () => {
    const play = started()
    for (const n of [1, 2]) {
      says(play, { text: `turn ${n}`, calls: [proposal("write", { n })] })
      ends(play, callId(rootFrame, n, 0))
    }
    const frame = play.state.frames.get(rootFrame)!
    const before = frame.transcript
    const history = { dropped: 1, elided: 2 }
    compacts(play, { step: 3, history })
    assert.deepStrictEqual(play.state.past, history)
    assert.strictEqual(frame.transcript, before)
    assert.isUndefined(frame.cut)
    const own = { dropped: 1, elided: 0 }
    compacts(play, { step: 3, cause: "refused", own })
    assert.deepStrictEqual(play.state.past, history)
    assert.deepStrictEqual(frame.cut, own)
    assert.deepStrictEqual(
      frame.transcript.map((entry) => (entry.role === "tool" ? entry.role : entry.text)),
      ["what is stuck?", "[steps 1 to 1 of this task are left out here.]", "turn 2", "tool"]
    )
  })
})
