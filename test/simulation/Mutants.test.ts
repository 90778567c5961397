import { assert, describe, it } from "@effect/vitest"
import { mutants } from "./Mutants.ts"
import { caught } from "./Suite.ts"

/** Those that need more seeds are left to `npm run simulate`, which runs all of them over 1,000. */
const seeds = 25

describe("a planted bug", () => {
  it("is one of at least twenty", () => {
    assert.isAtLeast(Object.keys(mutants).length, 20)
  })

  for (const [name, mutation] of Object.entries(mutants)) {
    it(`is seen: ${name}`, { timeout: 120_000 }, () => {
      assert.isDefined(caught(mutation, seeds))
    })
  }
})
