/**
 * The runs that a call of a run may start in another system: how deep they are, and what is left for them.
 */
import { BigDecimal, Schema } from "effect"
import { decimalText } from "../value/Decimal.ts"
import { ToolPolicyError } from "../error/ToolError.ts"
import { Nesting } from "./Nesting.ts"
import { budgetLeft } from "./RunBreach.ts"
import type { RunState } from "./RunState.ts"

/** `depth_max` is the bound of the run that calls; `spent`: nothing is left of its budget. */
export const NestedRuns = Schema.Struct({
  nesting: Nesting,
  depth_max: Schema.Int,
  spent: Schema.Boolean
})
export interface NestedRuns extends Schema.Schema.Type<typeof NestedRuns> {}

const scale_max = 9

/** An equal share, rounded down. */
const shareOf = (amount: BigDecimal.BigDecimal, shares: number): string => {
  const { scale, value } = amount
  if (value <= 0n) return "0"
  const fine = scale < scale_max ? value * 10n ** BigInt(scale_max - scale) : value
  return decimalText(BigDecimal.make(fine / BigInt(shares), Math.max(scale, scale_max)))
}

/** For a call of the run as it is now: what is left is divided among the calls that are open. */
export const nestedRunsOf = (state: RunState): NestedRuns => {
  const { limits, nested } = state.accepted
  const { cost, tokens } = budgetLeft(state)
  const shares = Math.max(state.open.filter(({ phase }) => phase._tag !== "Delegated").length, 1)
  const share = tokens === undefined ? undefined : Math.floor(tokens / shares)
  const { currency } = state.used
  const money = cost === undefined || currency === undefined ? undefined : shareOf(cost, shares)
  return {
    nesting: {
      depth: (nested?.depth ?? 0) + 1,
      ...(share === undefined ? undefined : { tokens_max: Math.max(share, 1) }),
      ...(money === undefined || currency === undefined ? undefined : { cost_max: money, currency })
    },
    depth_max: limits.nested_depth_max,
    spent: (share !== undefined && share < 1) || money === "0"
  }
}

const refused = (reason: string, message: string) =>
  new ToolPolicyError({ kind: "permission", reason, message })

/** Why a call may not start another run; undefined = it may. */
export const nestingRefusal = (nested: NestedRuns | undefined): ToolPolicyError | undefined => {
  if (nested === undefined) return undefined
  const { depth_max, nesting, spent } = nested
  if (nesting.depth > depth_max) {
    const problem = `runs may start one another ${depth_max} deep, and this one is as deep as that: nothing was sent`
    return refused("NESTED_DEPTH_MAX", problem)
  }
  return spent
    ? refused("NESTED_BUDGET", "nothing is left of this run's budget: nothing was sent")
    : undefined
}
