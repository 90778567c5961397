import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { sampleWorlds } from "../../scripts/sample/SampleWorlds.ts"
import { NewVersion } from "../../src/spectral/worlds/NewVersion.ts"
import { worldModelCard } from "../../src/spectral/worlds/Coverage.ts"

describe("the worlds of the walk", () => {
  const cards = sampleWorlds().map(({ eval_sets, rules, world }) =>
    worldModelCard(world, rules, eval_sets)
  )

  it("are four, of which two have thin coverage and weak provenance", () => {
    assert.lengthOf(cards, 4)
    const thin = cards.filter(({ coverage, support }) => coverage < 0.5 && support.strong === 0)
    assert.deepEqual(
      thin.map(({ world_id }) => world_id),
      ["advertising", "accessibility"]
    )
    for (const card of cards.filter((each) => !thin.includes(each))) {
      assert.strictEqual(card.coverage, 1)
      assert.strictEqual(card.support.weak + card.support.none, 0)
    }
  })

  it("are valid, the same for the same seed, and others for another", () => {
    for (const version of sampleWorlds()) {
      assert.deepEqual(Schema.decodeUnknownSync(NewVersion)(version), version)
    }
    assert.deepEqual(sampleWorlds(7), sampleWorlds(7))
    assert.notDeepEqual(sampleWorlds(7), sampleWorlds(8))
  })
})
