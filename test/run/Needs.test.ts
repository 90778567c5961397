import { assert, describe, it } from "@effect/vitest"
import { frameOpenedBy } from "../../src/value/Ids.ts"
import { needOf, needsOf, stillNeeded, toolOf, versionOf } from "../../src/run/Needs.ts"
import { fold } from "../../src/run/RunFold.ts"
import * as Samples from "../contracts/Samples.ts"
import { apply, claim, give } from "./Interleaving.ts"
import {
  analyst,
  delegates,
  ends,
  first,
  proposal,
  proposes,
  says,
  second,
  started
} from "./Scenes.ts"

const operations = Samples.operations

describe("a need", () => {
  it("names an agent, a version of an agent, or a tool of an agent", () => {
    const pins = { definition: "d", tools: "t" }
    assert.strictEqual(versionOf(operations, pins), "operations@d.t")
    assert.strictEqual(toolOf(operations, "shop.refund@1"), "operations/shop.refund@1")
    assert.deepStrictEqual(needOf("operations"), { agent: operations })
    assert.deepStrictEqual(needOf("operations@d.t"), { agent: operations, version: "d.t" })
    assert.deepStrictEqual(needOf("operations/shop.refund@1"), {
      agent: operations,
      tool: "shop.refund@1"
    })
    assert.deepStrictEqual(needOf("operations@d/t"), { agent: operations, version: "d/t" })
  })
})

describe("what a run needs", () => {
  /** A dispatched call whose tool is recorded, and a specialist with another. */
  const sent = () => {
    const play = started()
    says(play, { calls: [proposal("z"), proposal("a")] })
    delegates(play, second)
    const frame = frameOpenedBy(second)
    proposes(play, 1, frame)
    const below = `${frame}/1.0` as typeof first
    for (const [call, tool] of [
      [first, "z@1"],
      [below, "a@1"]
    ] as const) {
      give(play, { _tag: "Dispatches", call, key: "k", on_loss: "again", tool })
    }
    return { play, below }
  }

  it("is nothing of its own agent, also before it is claimed", () => {
    assert.deepStrictEqual(needsOf(fold([Samples.runAccepted(Samples.newTask())])), [])
    const play = started()
    assert.deepStrictEqual(needsOf(play.state), [])
    assert.strictEqual(needsOf(play.state), needsOf(started().state))
  })

  it("are the agents of its open frames and the tools of calls that an earlier owner dispatched, in order", () => {
    const { below, play } = sent()
    assert.deepStrictEqual(needsOf(play.state), [analyst])
    claim(play)
    assert.deepStrictEqual(needsOf(play.state), [analyst, "analyst/a@1", "operations/z@1"])
    give(play, { _tag: "Dispatches", call: first, key: "k", on_loss: "again", tool: "z@1" })
    assert.deepStrictEqual(needsOf(play.state), [analyst, "analyst/a@1"])
    apply(play, [{ _tag: "CallUnknown", call: below }])
    assert.deepStrictEqual(needsOf(play.state), [analyst])
  })

  it("is no tool of a dispatch that names none, nor of a call that is not dispatched", () => {
    const play = started()
    proposes(play, 2)
    give(play, { _tag: "Dispatches", call: first, key: "k", on_loss: "again" })
    claim(play)
    assert.deepStrictEqual(needsOf(play.state), [])
    ends(play, second)
    assert.deepStrictEqual(needsOf(play.state), [])
  })

  it("is nothing while it stops and after its end", () => {
    const { play } = sent()
    claim(play)
    const needs = ["operations@d.t", ...needsOf(play.state)]
    assert.deepStrictEqual(stillNeeded(needs, play.state), needs)
    assert.deepStrictEqual(stillNeeded([...needs, "other", "other/x@1"], play.state), needs)
    assert.deepStrictEqual(stillNeeded([analyst], play.state), [analyst])
    apply(play, [{ _tag: "RunStopping", status: "failed", by: "ada", reason: "r" }])
    assert.deepStrictEqual(needsOf(play.state), [])
    assert.deepStrictEqual(stillNeeded(needs, play.state), [])
    const over = sent().play
    claim(over)
    apply(over, [{ _tag: "RunEnded", status: "failed", reason: "r", text: "" }])
    assert.deepStrictEqual(needsOf(over.state), [])
    assert.deepStrictEqual(stillNeeded(needs, over.state), [])
  })
})
