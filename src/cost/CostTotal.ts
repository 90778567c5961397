/**
 * Sums of the costs of turns and tools, grouped by tenant, agent, model, run, tool or trace.
 */
import { Schema } from "effect"

/** `tool`: only what the bodies of tools spent on models; turns of agents have no tool. */
export const CostGroup = Schema.Literals(["tenant", "agent", "model", "run", "tool", "trace"])
export type CostGroup = typeof CostGroup.Type

/** A sum in one currency; currencies are never added together. */
const Amount = Schema.Struct({ currency: Schema.String, amount: Schema.String })

/** The sum of one group. Counts turns that were made with a price table, priced or not. */
export const CostTotal = Schema.Struct({
  /** The tenant, agent, model, run id, tool's plain name or trace id. */
  key: Schema.String,
  /** By currency; exact decimals as text. Empty where nothing had a price. */
  amounts: Schema.Array(Amount),
  /** Model turns of agents and of tools. */
  turns: Schema.Int,
  /** How many of `turns` have no known cost; they are in no amount. */
  unpriced_turns: Schema.Int,
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  cached_tokens: Schema.Int,
  cache_write_tokens: Schema.Int,
  reasoning_tokens: Schema.Int
}).annotate({ identifier: "CostTotal" })
export interface CostTotal extends Schema.Schema.Type<typeof CostTotal> {}
