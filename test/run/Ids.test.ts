import { assert, describe, it } from "@effect/vitest"
import { callId, FrameId, rootFrame, stepKey } from "../../src/Ids.ts"

const numbers = [-1, 0, 0.5, 1, 2, 63, 64, 65, 128, 4_096]

describe("the id of a call", () => {
  it("is its frame, step and index, within the first 64 of each and beyond them", () => {
    const seen = new Set<string>()
    for (const frame of [rootFrame, FrameId.make("0/1.0"), FrameId.make("00")]) {
      for (const step of numbers) {
        assert.strictEqual(stepKey(frame, step), `${frame}/${step}`)
        for (const index of numbers) {
          const id = callId(frame, step, index)
          assert.strictEqual(id, `${frame}/${step}.${index}`)
          assert.strictEqual(callId(frame, step, index), id)
          seen.add(id)
        }
      }
    }
    assert.strictEqual(seen.size, 3 * numbers.length ** 2)
  })
})
