/**
 * The operations on what models cost: the sums of what turns and tools took, and what budgets have left.
 */
import { Schema } from "effect"
import { BudgetName, BudgetState } from "../cost/Budget.ts"
import { CostTotal } from "../cost/TurnCost.ts"
import { ConversationId } from "../value/Ids.ts"
import { CostFilters } from "./Filters.ts"
import { operation } from "./Operation.ts"
import { Filter, Limit } from "./Page.ts"

export const list = operation({
  id: "list",
  name: "costs",
  method: "GET",
  path: "/v1/costs",
  query: CostFilters,
  success: Schema.Struct({
    items: Schema.Array(CostTotal),
    next_after: Schema.optionalKey(Schema.String)
  }),
  right: "inspect",
  gives: "items",
  summary: "What models cost, by agent, model, run, tool, trace or day"
})

export const budgets = operation({
  id: "budgets",
  name: "budgets",
  method: "GET",
  path: "/v1/budgets",
  query: Schema.Struct({
    /** Only this budget. */
    budget: Schema.optionalKey(BudgetName),
    /** Only this customer's, also where it has used nothing. A customer sees its own alone. */
    customer: Schema.optionalKey(Filter),
    /** Only this conversation's, also where it has used nothing; a customer sees those of its own conversations. */
    conversation: Schema.optionalKey(ConversationId),
    limit: Schema.optionalKey(Limit),
    /** The page begins after this, `next_after` of the page before. */
    after: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(2_000)))
  }),
  success: Schema.Struct({
    items: Schema.Array(BudgetState),
    next_after: Schema.optionalKey(Schema.String)
  }),
  problems: [404],
  right: "follow",
  gives: "items",
  summary: "What budgets have left in their current period"
})
