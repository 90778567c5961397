/**
 * What a workflow's run spent on models, according to `usage` in its answer. It counts as spent by the call that started the run.
 */
import { Option, Schema } from "effect"
import type { Json } from "../../src/value/Canonical.ts"
import { memberOf } from "../../src/call/BodyPath.ts"
import type { Spend } from "../../src/cost/Spending.ts"
import { Usage } from "../../src/cost/TurnCost.ts"

/** One entry for each model, at most 64. */
const Uses = Schema.Array(
  Schema.Struct({
    /** Absent = not known; its tokens then count without a price. */
    model: Schema.optionalKey(Schema.String),
    turns: Schema.optionalKey(Schema.Int),
    /** The tokens. Absent = not known. */
    usage: Schema.optionalKey(Usage)
  })
).check(Schema.isMaxLength(64))
const decode = Schema.decodeUnknownOption(Uses)

/**
 * Reports what an answer says was spent. Without `usage`, nothing known was spent. A `usage` that cannot be read counts as one
 * turn without a price.
 */
export const reportNested = (answer: Json, spent: Spend): void => {
  const given = memberOf(answer, "usage")
  if (given === undefined || given === null) return
  const uses = Option.getOrUndefined(decode(given))
  if (uses === undefined) return spent({})
  for (const use of uses) spent(use)
}
