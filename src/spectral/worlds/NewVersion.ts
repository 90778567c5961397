/**
 * The content with which a version of a world is published.
 */
import { Schema } from "effect"
import { bounds_result } from "../../value/BoundedJson.ts"
import type { JsonBounds } from "../../value/BoundedJson.ts"
import { EvalSet, eval_sets_max, Rule, rules_max, World } from "./World.ts"

const distinct = <A>(what: string, idOf: (item: A) => string) =>
  Schema.makeFilter((items: ReadonlyArray<A>) =>
    new Set(items.map(idOf)).size === items.length ? undefined : `${what} with distinct ids`
  )

export const NewVersion = Schema.Struct({
  world: World,
  /** All rules of the version. */
  rules: Schema.Array(Rule).check(
    Schema.isMaxLength(rules_max),
    distinct("rules", ({ rule_id }: Rule) => rule_id)
  ),
  /** All EvalSets of the world. */
  eval_sets: Schema.Array(EvalSet).check(
    Schema.isMaxLength(eval_sets_max),
    distinct("EvalSets", ({ eval_set_id }: EvalSet) => eval_set_id)
  )
})
export interface NewVersion extends Schema.Schema.Type<typeof NewVersion> {}

/**
 * The bounds of a version as JSON, with room for 5,000 rules of 2,000 units each. They are lower than the usual ones, because
 * summaries of a world read all of its rules at once.
 */
export const version_bounds: JsonBounds = {
  ...bounds_result,
  values_max: 1_000_000,
  units_max: 10_000_000
}
