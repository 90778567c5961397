import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import * as Samples from "../contracts/Samples.ts"

describe("RunLimits", () => {
  it("a run that is older than a limit has the limit's default", () => {
    const { limits: _, ...accepted } = Samples.runAccepted(Samples.newTask())
    const old = { ...accepted, limits: { steps_max: 7, calls_max: 9, on_breach: "answer" } }
    const event = Schema.decodeUnknownSync(RunEvent)(old)
    assert.deepStrictEqual(event._tag === "RunAccepted" ? event.limits : undefined, {
      ...RunLimits.make({}),
      steps_max: 7,
      calls_max: 9,
      on_breach: "answer"
    })
  })

  it("cost_max is an exact decimal, and no float", () => {
    assert.throws(() => RunLimits.make({ cost_max: "1e3" }))
    assert.throws(() => RunLimits.make({ cost_max: 0.5 as never }))
    assert.strictEqual(RunLimits.make({ cost_max: "0.1" }).cost_max, "0.1")
  })
})
