import { assert, describe, it } from "@effect/vitest"
import { said, swept } from "./Suite.ts"

const seeds = 50
const part = 5

describe("a crash at every I/O of a conversation", () => {
  for (let from = 1; from <= seeds; from += part) {
    it(`is survived in seeds ${from} to ${from + part - 1}`, { timeout: 300_000 }, () => {
      const outcome = swept(from, from + part - 1)
      assert.deepStrictEqual(outcome.failures.map(said), [])
      assert.isAbove(outcome.runs, part * 20)
      assert.isAbove(
        (outcome.counts.get("crash before an I/O") ?? 0) +
          (outcome.counts.get("crash after an I/O") ?? 0),
        part * 20
      )
    })
  }

  it("is survived where the conversation changes hands", { timeout: 300_000 }, () => {
    const outcome = swept(60, 60)
    assert.deepStrictEqual(outcome.failures.map(said), [])
    assert.isAbove(outcome.counts.get("a handoff") ?? 0, 20)
  })
})
