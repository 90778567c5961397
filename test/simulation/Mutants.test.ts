import { assert, describe, it } from "@effect/vitest"
import { mutants, rare } from "./Mutants.ts"
import { caught } from "./Suite.ts"

/**
 * Most are seen within ten; how many it takes depends on the order of tasks, which any change of the loop changes. Those
 * that need more are left to `npm run simulate`, which looks for each in 1,000.
 */
const seeds = 400

describe("a planted bug", () => {
  it("is one of at least twenty", () => {
    assert.isAtLeast(Object.keys(mutants).length, 20)
  })

  const planted = Object.entries(mutants).filter(([name]) => !rare.has(name))
  for (const [name, mutation] of planted) {
    it(`is seen: ${name}`, { timeout: 120_000 }, () => {
      assert.isDefined(caught(mutation, seeds))
    })
  }
})
