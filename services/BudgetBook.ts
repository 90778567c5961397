/**
 * The budgets that every agent of a runtime is under, read once when it is built. Those of single agents are in their definitions.
 */
import { Context } from "effect"
import type { Budget } from "../src/cost/Budget.ts"

/** The budgets of the whole service, beside those of its agents. None by default. */
export const BudgetBook: Context.Reference<ReadonlyArray<Budget>> = Context.Reference<
  ReadonlyArray<Budget>
>("troupe/services/BudgetBook", { defaultValue: () => [] })
