/**
 * The cost of one model turn. It is journaled, so that folds and limits do not change when prices do.
 */
import { Schema } from "effect"
import { AgentName } from "../value/Ids.ts"

/** An amount without a sign; it has more digits than a price, because it is a product with tokens. */
const Amount = Schema.String.check(Schema.isPattern(/^[0-9]{1,40}(\.[0-9]{1,40})?$/))

const known = {
  /** The agent whose turn it was; a specialist's turn is the specialist's. */
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
