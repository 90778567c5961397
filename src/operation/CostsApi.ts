/**
 * The endpoint of costs: of model turns, and of models that tools call.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { CostTotal } from "../cost/CostTotal.ts"
import { Authentication, Validation } from "./Boundary.ts"
import { CostFilters } from "./Filters.ts"

const list = HttpApiEndpoint.get("list", "/v1/costs", {
  query: CostFilters,
  success: Schema.Struct({
    items: Schema.Array(CostTotal),
    next_after: Schema.optionalKey(Schema.String)
  })
}).annotateMerge(
  OpenApi.annotations({ summary: "What models cost, by agent, model, run, tool or trace" })
)

export class CostsApi extends HttpApiGroup.make("costs")
  .add(list)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Costs" })) {}
