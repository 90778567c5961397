/**
 * Finds weak places in a world's rules: topics that too few evaluation cases cover, and rules without strong support. The card sums
 * a world up on one page.
 */
import type { EvalSet, Provenance, Rule, World } from "./World.ts"
import { Schema } from "effect"

/** The least number of cases that a topic with rules needs. */
const cases_min = 5

export interface CoverageGap {
  readonly topic: string
  readonly rules: number
  readonly cases: number
  /** `untested`: the topic has no case. `thin`: it has fewer than `cases_min`. `unruled`: it has cases but no rule. */
  readonly kind: "untested" | "thin" | "unruled"
}

const gapKind = (rules: number, cases: number): CoverageGap["kind"] | undefined => {
  if (rules === 0) return cases > 0 ? "unruled" : undefined
  if (cases === 0) return "untested"
  return cases < cases_min ? "thin" : undefined
}

const order: Record<CoverageGap["kind"], number> = { untested: 0, thin: 1, unruled: 2 }

/** All gaps, the worst kind first; within a kind, the topic with the most rules first. */
export const coverageGaps = (
  rules: ReadonlyArray<Rule>,
  sets: ReadonlyArray<EvalSet>
): ReadonlyArray<CoverageGap> => {
  const topics = new Map<string, { rules: number; cases: number }>()
  const countOf = (topic: string) => {
    let count = topics.get(topic)
    if (count === undefined) topics.set(topic, (count = { rules: 0, cases: 0 }))
    return count
  }
  for (const { topic } of rules) countOf(topic).rules++
  for (const { cases } of sets) {
    for (const [topic, count] of Object.entries(cases)) countOf(topic).cases += count
  }
  return [...topics]
    .flatMap(([topic, count]): ReadonlyArray<CoverageGap> => {
      const kind = gapKind(count.rules, count.cases)
      return kind === undefined ? [] : [{ topic, ...count, kind }]
    })
    .toSorted(
      (a, b) => order[a.kind] - order[b.kind] || b.rules - a.rules || (a.topic < b.topic ? -1 : 1)
    )
}

const strengths: Record<Provenance["strength"], number> = { weak: 1, moderate: 2, strong: 3 }

/** The strongest support of a rule; `none` where it has no provenance. */
export const supportOf = ({
  provenance
}: Pick<Rule, "provenance">): Provenance["strength"] | "none" =>
  provenance.reduce<Provenance["strength"] | "none">(
    (best, { strength }) =>
      best === "none" || strengths[strength] > strengths[best] ? strength : best,
    "none"
  )

/**
 * The rules without strong or moderate support: first those without provenance, then those with only weak provenance, each group
 * ordered by id.
 */
export const weaklySupported = (rules: ReadonlyArray<Rule>): ReadonlyArray<Rule> =>
  rules
    .filter((rule) => ["none", "weak"].includes(supportOf(rule)))
    .toSorted(
      (a, b) =>
        Number(supportOf(a) === "weak") - Number(supportOf(b) === "weak") ||
        (a.rule_id < b.rule_id ? -1 : 1)
    )

const Count = Schema.Int

export const WorldModelCard = Schema.Struct({
  world_id: Schema.String,
  name: Schema.String,
  domain: Schema.String,
  version: Count,
  rules: Count,
  topics: Count,
  eval_sets: Count,
  cases: Count,
  /** The share of topics with rules that have enough cases, 0 to 1; 1 if there are no rules. */
  coverage: Schema.Number,
  support: Schema.Struct({ strong: Count, moderate: Count, weak: Count, none: Count }),
  /** The lowest pass rate of its EvalSets, 0 to 1; absent if none was run. */
  pass_rate_min: Schema.optionalKey(Schema.Number)
})
export interface WorldModelCard extends Schema.Schema.Type<typeof WorldModelCard> {}

export const worldModelCard = (
  { domain, name, version, world_id }: World,
  rules: ReadonlyArray<Rule>,
  sets: ReadonlyArray<EvalSet>
): WorldModelCard => {
  const topics = new Set(rules.map(({ topic }) => topic))
  const open = coverageGaps(rules, sets).filter(({ kind }) => kind !== "unruled").length
  const support = { strong: 0, moderate: 0, weak: 0, none: 0 }
  for (const rule of rules) support[supportOf(rule)]++
  const rates = sets.flatMap(({ pass_rate }) => pass_rate ?? [])
  const cases = sets
    .flatMap((set) => Object.values(set.cases))
    .reduce((total, count) => total + count, 0)
  return {
    world_id,
    name,
    domain,
    version,
    rules: rules.length,
    topics: topics.size,
    eval_sets: sets.length,
    cases,
    coverage: topics.size === 0 ? 1 : (topics.size - open) / topics.size,
    support,
    ...(rates.length === 0 ? undefined : { pass_rate_min: Math.min(...rates) })
  }
}
