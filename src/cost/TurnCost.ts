/**
 * The tokens and the cost of a model turn, and sums of costs. A cost is journaled, so that folds and limits do not change when
 * prices do.
 */
import { Schema } from "effect"
import { AgentName } from "../value/Ids.ts"

/** The tokens of one model turn, as its provider counts them. */
export class Usage extends Schema.Opaque<Usage>()(
  Schema.Struct({
    /** Tokens of the whole prompt, cached ones included. */
    input_tokens: Schema.Int,
    /** Tokens that the model wrote, reasoning included. */
    output_tokens: Schema.Int,
    /** Part of the input: read from, and written to, the provider's cache. */
    cached_tokens: Schema.optionalKey(Schema.Int),
    /** Part of the input: written to the provider's cache. */
    cache_write_tokens: Schema.optionalKey(Schema.Int),
    /** Part of the output. */
    reasoning_tokens: Schema.optionalKey(Schema.Int),
    /** The provider counted nothing: the numbers are a guess, which `tokens_max` takes for the count. They have no price. */
    estimated: Schema.optionalKey(Schema.Literal(true))
  })
) {}

/** An amount without a sign; it has more digits than a price, because it is a product with tokens. */
const Amount = Schema.String.check(Schema.isPattern(/^[0-9]{1,40}(\.[0-9]{1,40})?$/))

const known = {
  /** The agent whose turn it was; a specialist's turn is the specialist's. */
  agent: AgentName,
  /** The version of the price table. */
  prices: Schema.String
} as const

/** What a turn cost. */
export class Priced extends Schema.Opaque<Priced>()(
  Schema.TaggedStruct("Priced", {
    ...known,
    /** Such as `EUR`. */
    currency: Schema.String,
    /** A decimal text, exact. */
    amount: Amount
  })
) {}

/** The table has no price for the model, or the provider counted no tokens. */
export class Unpriced extends Schema.Opaque<Unpriced>()(
  Schema.TaggedStruct("Unpriced", {
    ...known,
    /** Whether the table has no price for it, or the provider counted nothing. */
    reason: Schema.Literals(["no_price", "no_usage"])
  })
) {}

/** What one model turn cost, or why that is not known. */
export const TurnCost = Schema.Union([Priced, Unpriced])
export type TurnCost = typeof TurnCost.Type

/**
 * `tool`: only what the bodies of tools spent on models; turns of agents have no tool. `day`: a day in UTC, such as `2026-11-30`;
 * one without costs has no sum.
 */
export const CostGroup = Schema.Literals([
  "tenant",
  "agent",
  "model",
  "run",
  "tool",
  "trace",
  "day"
])
export type CostGroup = typeof CostGroup.Type

/** A sum in one currency; currencies are never added together. */
const CurrencySum = Schema.Struct({
  /** Such as `EUR`. */
  currency: Schema.String,
  /** A decimal text, exact. */
  amount: Schema.String
})

/** The sum of one group. Counts turns that were made with a price table, priced or not. */
export const CostTotal = Schema.Struct({
  /** The tenant, agent, model, run id, tool's plain name, trace id or day. */
  key: Schema.String,
  /** By currency; exact decimals as text. Empty where nothing had a price. */
  amounts: Schema.Array(CurrencySum),
  /** Model turns of agents and of tools. */
  turns: Schema.Int,
  /** How many of `turns` have no known cost; they are in no amount. */
  unpriced_turns: Schema.Int,
  /** The sum of the input tokens. */
  input_tokens: Schema.Int,
  /** The sum of the output tokens. */
  output_tokens: Schema.Int,
  /** How many of the input tokens were read from a cache. */
  cached_tokens: Schema.Int,
  /** How many of the input tokens were written to a cache. */
  cache_write_tokens: Schema.Int,
  /** How many of the output tokens were reasoning. */
  reasoning_tokens: Schema.Int
}).annotate({ identifier: "CostTotal" })
export interface CostTotal extends Schema.Schema.Type<typeof CostTotal> {}
