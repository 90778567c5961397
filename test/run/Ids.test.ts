import { assert, describe, it } from "@effect/vitest"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { callId, FrameId, rootFrame, stepKey } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"

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

describe("a name in a definition", () => {
  it("is a plain text, which the constructor checks", () => {
    assert.strictEqual(AgentSpec.make({ name: "shop", instructions: "" }).name, "shop")
    for (const name of ["", "Shop", "a b", "__proto__", "a".repeat(65)]) {
      assert.throws(() => AgentSpec.make({ name, instructions: "" }))
    }
    const { tenant } = new Principal({ id: "boss", tenant: "default", roles: [] })
    assert.strictEqual(tenant, "default")
    for (const wrong of ["", "a b", "a".repeat(201)]) {
      assert.throws(() => new Principal({ id: "boss", tenant: wrong, roles: [] }))
    }
  })
})
