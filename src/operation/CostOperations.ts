/**
 * The operation that sums costs: of model turns, and of models that tools call.
 */
import { Schema } from "effect"
import { CostTotal } from "../cost/TurnCost.ts"
import { CostFilters } from "./Filters.ts"
import { operation } from "./Operation.ts"

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
  summary: "What models cost, by agent, model, run, tool or trace"
})
