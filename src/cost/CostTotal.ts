/**
 * What turns and tools cost together, by who or what caused it.
 */
import { Schema } from "effect"

/** `tool`: only what the bodies of tools spent on models; a turn has no tool. */
export const CostGroup = Schema.Literals(["tenant", "agent", "model", "run", "tool", "trace"])
export type CostGroup = typeof CostGroup.Type

/** Sums are never made over currencies. */
const Amount = Schema.Struct({ currency: Schema.String, amount: Schema.String })

/** Of one tenant, agent, model, run, tool or trace. Counts what had a price table, priced or not. */
export const CostTotal = Schema.Struct({
  /** The tenant, agent, model, run id, tool's plain name or trace id. */
  key: Schema.String,
  /** By currency; exact decimals as text. Empty where nothing had a price. */
  amounts: Schema.Array(Amount),
  /** Turns of models: those of agents, and those that tools asked for. */
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
