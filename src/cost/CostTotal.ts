/**
 * What turns cost together, by who or what caused it.
 */
import { Schema } from "effect"

export const CostGroup = Schema.Literals(["tenant", "agent", "model", "run"])
export type CostGroup = typeof CostGroup.Type

/** Sums are never made over currencies. */
const Amount = Schema.Struct({ currency: Schema.String, amount: Schema.String })

/** Of one tenant, agent, model or run. Counts turns that had a price table, priced or not. */
export const CostTotal = Schema.Struct({
  /** The tenant, agent, model or run id. */
  key: Schema.String,
  /** By currency; exact decimals as text. Empty where no turn had a price. */
  amounts: Schema.Array(Amount),
  turns: Schema.Int,
  /** Those of `turns` whose cost nobody knows: it is in no amount. */
  unpriced_turns: Schema.Int,
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  cached_tokens: Schema.Int,
  cache_write_tokens: Schema.Int,
  reasoning_tokens: Schema.Int
}).annotate({ identifier: "CostTotal" })
export interface CostTotal extends Schema.Schema.Type<typeof CostTotal> {}
