/**
 * What the body of a tool spent on models, as it is journaled with the outcome of its call.
 */
import { BigDecimal, Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import type { AgentName } from "../value/Ids.ts"
import { parseDecimal, decimalText } from "../value/Decimal.ts"
import type { Prices } from "./PriceTable.ts"
import { costOf } from "./PriceTable.ts"
import { TurnCost, Usage } from "./TurnCost.ts"
import { defined } from "../value/PlainObject.ts"

/** A model call as a tool's body reports it. */
export interface ModelSpent {
  /** The model's id, by which it is priced. */
  readonly model?: string | undefined
  /** Absent = not counted: the turn is unpriced, and never counts as free. */
  readonly usage?: Usage | undefined
  /** How many turns of the model it covers; absent = one. */
  readonly turns?: number | undefined
}

/**
 * Reports what a body spent. Synchronous and in memory: the reports of all attempts are journaled when the call has a
 * result or its outcome is unknown. Not counted: later reports, those lost in a crash, and those of a read that was still
 * running when its run was stopped.
 */
export type Spend = (spent: ModelSpent) => void

/** One turn of a model, or several that were merged into one entry. */
export class ModelUse extends Schema.Opaque<ModelUse>()(
  Schema.Struct({
    /** Empty = not reported. */
    model: Schema.String,
    /** Absent = one. */
    turns: Schema.optionalKey(Schema.Int),
    usage: Schema.optionalKey(Usage),
    /** Absent where no price table was given. */
    cost: Schema.optionalKey(TurnCost)
  })
) {}

/** The most entries of one call; beyond it, uses of the same model are merged. */
export const uses_max = 32

/** What one call spent, over all its attempts. */
export class Spending extends Schema.Opaque<Spending>()(
  Schema.Struct({
    /** The tool's plain name. */
    tool: Schema.String,
    /** In the order in which they were reported. */
    uses: Schema.Array(ModelUse).check(Schema.isMaxLength(uses_max))
  })
) {}

const model_length_max = 200
/** More than any turn has, and small enough that sums of such counts stay exact. */
const tokens_max = 1_000_000_000_000
/** The entry of all models that no longer fit as entries of their own. */
const other_model = "(other)"

const isCount = (count: number | undefined): count is number =>
  count !== undefined && Number.isSafeInteger(count) && count >= 0 && count <= tokens_max

/** Drops values that are not counts, because bodies are untrusted code. Undefined without input and output. */
const usageOf = (given: Usage | undefined): Usage | undefined => {
  if (given === undefined || !isCount(given.input_tokens) || !isCount(given.output_tokens)) {
    return undefined
  }
  const { cache_write_tokens, cached_tokens, input_tokens, output_tokens, reasoning_tokens } = given
  return {
    input_tokens,
    output_tokens,
    ...(isCount(cached_tokens) ? { cached_tokens } : undefined),
    ...(isCount(cache_write_tokens) ? { cache_write_tokens } : undefined),
    ...(isCount(reasoning_tokens) ? { reasoning_tokens } : undefined)
  }
}

/** A report as it is journaled, at the current price. */
export const modelUseOf = (
  prices: Prices | undefined,
  agent: AgentName,
  { model = "", turns, usage: given }: ModelSpent
): ModelUse => {
  const usage = usageOf(given)
  const name = truncateUnits(model, model_length_max)
  const turn = usage === undefined ? { model: name } : { model: name, usage }
  return {
    ...turn,
    ...(isCount(turns) && turns > 1 ? { turns } : undefined),
    ...(prices === undefined ? undefined : { cost: costOf(prices, agent, turn, undefined) })
  }
}

/** Only uses of one kind are merged: priced, without a price, without usage. */
const kindOf = ({ cost }: ModelUse): string | undefined =>
  cost?._tag === "Unpriced" ? cost.reason : cost?._tag
const kinds_max = 3

const sum = (a: number, b: number): number => Math.min(a + b, Number.MAX_SAFE_INTEGER)

const parts = ["cached_tokens", "cache_write_tokens", "reasoning_tokens"] as const

const addUsages = (a: Usage | undefined, b: Usage | undefined): Usage | undefined => {
  if (a === undefined || b === undefined) return a ?? b
  const total: { -readonly [Name in keyof Usage]: Usage[Name] } = {
    input_tokens: sum(a.input_tokens, b.input_tokens),
    output_tokens: sum(a.output_tokens, b.output_tokens)
  }
  for (const part of parts) {
    if (a[part] !== undefined || b[part] !== undefined)
      total[part] = sum(a[part] ?? 0, b[part] ?? 0)
  }
  if (a.estimated === true || b.estimated === true) total.estimated = true
  return total
}

const addCosts = (a: TurnCost | undefined, b: TurnCost | undefined): TurnCost | undefined =>
  a?._tag === "Priced" && b?._tag === "Priced"
    ? { ...a, amount: decimalText(BigDecimal.sum(parseDecimal(a.amount), parseDecimal(b.amount))) }
    : a

const merged = (a: ModelUse, b: ModelUse): ModelUse => {
  const usage = addUsages(a.usage, b.usage)
  const cost = addCosts(a.cost, b.cost)
  return {
    model: a.model,
    turns: sum(a.turns ?? 1, b.turns ?? 1),
    ...defined({ usage, cost })
  }
}

/** Adds a use. Beyond the bound it is merged into an entry of its model, or of all other models. */
export const addModelUse = (
  uses: ReadonlyArray<ModelUse>,
  use: ModelUse
): ReadonlyArray<ModelUse> => {
  if (uses.length < uses_max - kinds_max) return [...uses, use]
  const indexOfModel = (model: string) =>
    uses.findLastIndex((each) => each.model === model && kindOf(each) === kindOf(use))
  const own = indexOfModel(use.model)
  const merge_at = own === -1 ? indexOfModel(other_model) : own
  return merge_at === -1
    ? [...uses, { ...use, model: other_model }]
    : uses.map((each, index) => (index === merge_at ? merged(each, use) : each))
}
