import { assert, describe, it } from "@effect/vitest"
import {
  coverageGaps,
  supportOf,
  weaklySupported,
  worldModelCard
} from "../../src/spectral/worlds/Coverage.ts"
import { credit, privacy } from "./Worlds.ts"

describe("coverage of a world", () => {
  it("names untested topics first, then thin ones, then cases without a rule", () => {
    assert.deepEqual(coverageGaps(credit.rules, credit.eval_sets), [
      { topic: "withdrawal", rules: 1, cases: 0, kind: "untested" },
      { topic: "sales", rules: 1, cases: 3, kind: "thin" },
      { topic: "insurance", rules: 0, cases: 2, kind: "unruled" }
    ])
  })

  it("adds the cases of all EvalSets, and has no gap at five cases", () => {
    const more = { eval_set_id: "more", name: "More", cases: { sales: 2, withdrawal: 5 } }
    const gaps = coverageGaps(credit.rules, [...credit.eval_sets, more])
    assert.deepEqual(
      gaps.map(({ topic }) => topic),
      ["insurance"]
    )
  })

  it("judges a rule by its strongest support", () => {
    assert.deepEqual(credit.rules.map(supportOf), ["strong", "moderate", "weak", "none"])
    assert.deepEqual(
      weaklySupported(credit.rules).map(({ rule_id }) => rule_id),
      ["cooling-off", "no-pressure"]
    )
  })
})

describe("a WorldModelCard", () => {
  it("counts rules, topics, cases and support, and the share of topics with enough cases", () => {
    assert.deepEqual(worldModelCard(credit.world, credit.rules, credit.eval_sets), {
      world_id: "credit",
      name: "Consumer credit",
      domain: "Judges offers of consumer credit.",
      version: 1,
      rules: 4,
      topics: 3,
      eval_sets: 1,
      cases: 45,
      coverage: 1 / 3,
      support: { strong: 1, moderate: 1, weak: 1, none: 1 },
      pass_rate_min: 0.9
    })
  })

  it("of a world that was never evaluated has no pass rate and no coverage", () => {
    const card = worldModelCard(privacy.world, privacy.rules, privacy.eval_sets)
    assert.notProperty(card, "pass_rate_min")
    assert.strictEqual(card.coverage, 0)
    assert.strictEqual(worldModelCard(privacy.world, [], []).coverage, 1)
  })
})
