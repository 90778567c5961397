/**
 * What one model turn cost, as it is journaled: prices change, and neither a fold nor a limit may change with them.
 */
import { Schema } from "effect"
import { AgentName } from "../Ids.ts"

/** An amount without a sign; longer than a price, because tokens are multiplied in. */
const Amount = Schema.String.check(Schema.isPattern(/^[0-9]{1,40}(\.[0-9]{1,40})?$/))

const known = {
  /** The agent whose turn it was: a specialist's is its own. */
  agent: AgentName,
  /** The version of the price table. */
  prices: Schema.String
}

export const TurnCost = Schema.Union([
  Schema.TaggedStruct("Priced", { ...known, currency: Schema.String, amount: Amount }),
  /** The table has no price for the model, or the provider counted no tokens. */
  Schema.TaggedStruct("Unpriced", { ...known, reason: Schema.Literals(["no_price", "no_usage"]) })
])
export type TurnCost = typeof TurnCost.Type
