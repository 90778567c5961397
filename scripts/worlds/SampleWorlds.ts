/**
 * Four made-up worlds for the walk, the same on every machine: two are well tested and well supported, of the other two
 * neither is true.
 */
import type { EvalSet, Provenance, Rule } from "../../src/spectral/worlds/World.ts"
import { NewVersion } from "../../src/spectral/worlds/NewVersion.ts"
import { WorldId } from "../../src/spectral/worlds/contracts/WorldId.ts"
import { randomFrom } from "../start/SeededRandom.ts"

interface Outline {
  readonly id: string
  readonly name: string
  readonly domain: string
  readonly topics: ReadonlyArray<readonly [topic: string, duties: ReadonlyArray<string>]>
  readonly isThin: boolean
}

const outlines: ReadonlyArray<Outline> = [
  {
    id: "credit",
    name: "Consumer credit",
    domain: "Judges how consumer credit is offered and sold.",
    isThin: false,
    topics: [
      ["disclosure", ["the yearly rate", "the total amount", "the duration", "all fees"]],
      ["sales", ["no pressure to sign", "an answer to every question", "a copy to take home"]],
      ["withdrawal", ["the right to withdraw", "its form", "its time limit"]],
      ["arrears", ["a reminder before costs", "a plan before court"]]
    ]
  },
  {
    id: "privacy",
    name: "Privacy",
    domain: "Judges what a service does with personal data.",
    isThin: false,
    topics: [
      ["purpose", ["a named purpose", "no other use", "an end of storage"]],
      ["consent", ["a free choice", "an easy withdrawal", "no hidden default"]],
      ["access", ["an answer in time", "a copy that can be read", "who received what"]]
    ]
  },
  {
    id: "advertising",
    name: "Advertising",
    domain: "Judges whether an advertisement misleads.",
    isThin: true,
    topics: [
      ["claims", ["a source for each number", "no claim of the only one", "tests by name"]],
      ["prices", ["the whole price", "the old price where one is crossed out"]],
      ["influencers", ["the word advertisement", "the word at the beginning"]],
      ["children", ["no call to buy", "no use of trust"]]
    ]
  },
  {
    id: "accessibility",
    name: "Accessibility",
    domain: "Judges whether a page can be used by everybody.",
    isThin: true,
    topics: [
      ["text", ["enough contrast", "text that grows", "a language mark"]],
      ["input", ["a label for each field", "every action by keyboard"]],
      ["media", ["captions", "a text for each picture"]]
    ]
  }
]

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
  topics.flatMap(([topic, duties]) =>
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
      topics.flatMap(([topic]) => {
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
  return outlines.map((outline) => {
    const { domain, id, name } = outline
    return NewVersion.make({
      world: { world_id: WorldId.make(id), name, domain, version: 1, published_at },
      rules: rulesOf(outline, random),
      eval_sets: evalSetsOf(outline, random)
    })
  })
}
