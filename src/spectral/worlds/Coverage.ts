/**
 * Finds weak places in a world's rules: topics that too few evaluation cases cover, and rules without strong support.
 */
import type { EvalSet, Provenance, Rule } from "./World.ts"

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
