/**
 * Four made-up worlds for the walk, the same on every machine: two are well tested and well supported, of the other two
 * neither is true.
 */
import type { EvalSet, Provenance, Rule } from "../../src/spectral/worlds/World.ts"
import { NewVersion } from "../../src/spectral/worlds/NewVersion.ts"
import { WorldId } from "../../src/spectral/worlds/contracts/WorldId.ts"
import outlines from "./outlines.json" with { type: "json" }
import { randomFrom } from "./SeededRandom.ts"

type Outline = (typeof outlines)["worlds"][number]

const published_at = Date.UTC(2026, 0, 12)

const provenanceOf = (
  topic: string,
  isThin: boolean,
  random: () => number
): ReadonlyArray<Provenance> => {
  const page = 1 + Math.floor(random() * 80)
  if (!isThin) {
    const strength = random() < 0.8 ? "strong" : "moderate"
    return [{ kind: "regulation", reference: `handbook on ${topic}, page ${page}`, strength }]
  }
  const chance = random()
  if (chance < 0.25) return []
  return [
    chance < 0.7
      ? { kind: "generated", reference: "a model's summary, not reviewed", strength: "weak" }
      : { kind: "expert", reference: `interview on ${topic}, note ${page}`, strength: "moderate" }
  ]
}

const rulesOf = ({ isThin, topics }: Outline, random: () => number): ReadonlyArray<Rule> =>
  topics.flatMap(({ duties, topic }) =>
    duties.map((duty, n) => ({
      rule_id: `${topic}-${n + 1}`,
      topic,
      title: `${topic}: ${duty}`,
      body: `Where ${topic} is concerned, there has to be ${duty}. It counts from the first contact on.`,
      since_version: 1,
      provenance: provenanceOf(topic, isThin, random)
    }))
  )

const evalSetsOf = (
  { isThin, name, topics }: Outline,
  random: () => number
): ReadonlyArray<EvalSet> =>
  ["basics", "regressions"].map((eval_set_id) => ({
    eval_set_id,
    name: `${name}: ${eval_set_id}`,
    cases: Object.fromEntries(
      topics.flatMap(({ topic }) => {
        // Of a thin world, most topics have no case or next to none.
        const count = isThin ? Math.floor(random() * 5) - 2 : 12 + Math.floor(random() * 40)
        return count > 0 ? [[topic, count]] : []
      })
    ),
    pass_rate: Math.round((isThin ? 0.55 + random() * 0.2 : 0.88 + random() * 0.1) * 100) / 100
  }))

/** The first version of each. */
export const sampleWorlds = (seed = 1): ReadonlyArray<NewVersion> => {
  const random = randomFrom(seed)
  return outlines.worlds.map((outline) => {
    const { domain, id, name } = outline
    return NewVersion.make({
      world: { world_id: WorldId.make(id), name, domain, version: 1, published_at },
      rules: rulesOf(outline, random),
      eval_sets: evalSetsOf(outline, random)
    })
  })
}
