/**
 * What a workflow's run spent on models, as its answer says in `usage`: it counts as spent by the call that started it.
 */
import { Option, Schema } from "effect"
import type { Json } from "../../src/Canonical.ts"
import { memberOf } from "../../src/call/BodyPath.ts"
import type { Spend } from "../../src/cost/Spending.ts"
import { Usage } from "../../src/cost/Usage.ts"

/** One entry for each model, at most 64. */
const Uses = Schema.Array(
  Schema.Struct({
    /** Absent = not known: its tokens count, and have no price. */
    model: Schema.optionalKey(Schema.String),
    turns: Schema.optionalKey(Schema.Int),
    /** Absent = not counted. */
    usage: Schema.optionalKey(Usage)
  })
).check(Schema.isMaxLength(64))
const decode = Schema.decodeUnknownOption(Uses)

/** An answer without `usage` spent nothing that is known of. One that cannot be read is a turn that has no price. */
export const reportNested = (answer: Json, spent: Spend): void => {
  const given = memberOf(answer, "usage")
  if (given === undefined || given === null) return
  const uses = Option.getOrUndefined(decode(given))
  if (uses === undefined) return spent({})
  for (const use of uses) spent(use)
}
