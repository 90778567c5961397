/**
 * What a run has used of its limits, beside its steps, calls and tokens. Part of the fold, changed in place.
 */
import { BigDecimal } from "effect"
import { parseDecimal } from "../value/Decimal.ts"
import type { Spending } from "../cost/Spending.ts"
import type { TurnCost } from "../cost/TurnCost.ts"
import type { Usage } from "../cost/Usage.ts"
import type { LimitName } from "./RunLimits.ts"

export interface RunUsage {
  /** Of the largest turn so far. */
  turn_tokens_most: number
  /** Some of the tokens are an estimate, because a provider counted none. */
  tokens_estimated: boolean
  turn_cost_most: BigDecimal.BigDecimal | undefined
  /** Of the first turn that has a price; undefined before it. */
  currency: string | undefined
  cost: BigDecimal.BigDecimal | undefined
  /** Turns, also those of tools, whose cost is not known or is in another currency. */
  unpriced_turns: number
  /** Calls beyond `calls_max`. */
  calls_refused: number
  /** Uses of tools that providers ran by themselves: calls, too. */
  provider_uses: number
  /** Failures of equal calls since one succeeded, and the highest count so far. */
  failures: Map<string, number> | undefined
  repeats: number
  /** Turns in a row with nothing but mistakes of the model's own. */
  mistakes: number
  /** The last such mistake, in words for an operator, at most 300 UTF-16 units; undefined = none yet. */
  mistake: string | undefined
  /** `wall_ms_max` has passed. */
  timed_out: boolean
  /** How often people have extended a limit. */
  extended: Map<LimitName, number> | undefined
}

export const emptyUsage = (): RunUsage => ({
  turn_tokens_most: 0,
  tokens_estimated: false,
  turn_cost_most: undefined,
  currency: undefined,
  cost: undefined,
  unpriced_turns: 0,
  calls_refused: 0,
  provider_uses: 0,
  failures: undefined,
  repeats: 0,
  mistakes: 0,
  mistake: undefined,
  timed_out: false,
  extended: undefined
})

/** The tokens of a turn. */
export const tokensOf = (used: RunUsage, usage: Usage): number => {
  const tokens = usage.input_tokens + usage.output_tokens
  if (tokens > used.turn_tokens_most) used.turn_tokens_most = tokens
  if (usage.estimated === true) used.tokens_estimated = true
  return tokens
}

/** Adds a cost. Gives the amount; undefined where it is not known. */
const add = (used: RunUsage, cost: TurnCost, turns: number): BigDecimal.BigDecimal | undefined => {
  if (cost._tag === "Unpriced" || cost.currency !== (used.currency ??= cost.currency)) {
    used.unpriced_turns += turns
    return undefined
  }
  const amount = parseDecimal(cost.amount)
  used.cost = used.cost === undefined ? amount : BigDecimal.sum(used.cost, amount)
  return amount
}

export const chargeTurn = (used: RunUsage, cost: TurnCost): void => {
  const amount = add(used, cost, 1)
  if (amount === undefined) return
  if (used.turn_cost_most === undefined || BigDecimal.isGreaterThan(amount, used.turn_cost_most)) {
    used.turn_cost_most = amount
  }
}

/** Charges what a tool's body spent, and gives its tokens. It is no turn of the run, so the reserve for turns does not grow. */
export const chargeTool = (used: RunUsage, { uses }: Spending): number => {
  let tokens = 0
  for (const { cost, turns = 1, usage } of uses) {
    if (usage !== undefined) tokens += usage.input_tokens + usage.output_tokens
    if (cost !== undefined) add(used, cost, turns)
  }
  return tokens
}

/** An approval has extended a limit. */
export const extendLimit = (used: RunUsage, limit: LimitName): void => {
  const extended = (used.extended ??= new Map<LimitName, number>())
  extended.set(limit, (extended.get(limit) ?? 0) + 1)
  if (limit === "wall_ms_max") used.timed_out = false
}
