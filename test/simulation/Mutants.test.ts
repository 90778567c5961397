import { assert, describe, it } from "@effect/vitest"
import { mutants, rare } from "./Mutants.ts"
import { caught } from "./Suite.ts"

/** Those that need more seeds are left to `npm run simulate`, which looks for each in 1,000. */
const seeds = 40

describe("a planted bug", () => {
  it("is one of at least twenty", () => {
    assert.isAtLeast(Object.keys(mutants).length, 20)
  })

  for (const [name, mutation] of Object.entries(mutants)) {
    if (rare.has(name)) continue
    it(`is seen: ${name}`, { timeout: 120_000 }, () => {
      assert.isDefined(caught(mutation, seeds))
    })
  }
})
