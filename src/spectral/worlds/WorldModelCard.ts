/**
 * A summary of a world on one page: what it judges, how much of it is tested, and how well it is supported.
 */
import { Schema } from "effect"
import type { EvalSet, Rule, World } from "./World.ts"
import { coverageGaps, supportOf } from "./Coverage.ts"

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
