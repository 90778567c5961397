/**
 * The costs of model turns, and of models that tools call.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { CostGroup, CostTotal } from "../cost/CostTotal.ts"
import { AgentName, RunId } from "../Ids.ts"
import { Authentication, Validation } from "./Boundary.ts"
import { Filter, Limit, Moment, orderedRange } from "./Page.ts"

const list = HttpApiEndpoint.get("list", "/v1/costs", {
  query: Schema.Struct({
    /** The key of the totals; absent = `agent`. */
    by: Schema.optionalKey(CostGroup),
    /** Journaled at or after `from` and before `to`, in ms since 1970. */
    from: Schema.optionalKey(Moment),
    to: Schema.optionalKey(Moment),
    agent: Schema.optionalKey(AgentName),
    model: Schema.optionalKey(Filter),
    run: Schema.optionalKey(RunId),
    /** Only what this tool, by its plain name, spent on models. */
    tool: Schema.optionalKey(Filter),
    trace_id: Schema.optionalKey(Filter),
    limit: Schema.optionalKey(Limit),
    /** Totals after this key. */
    after: Schema.optionalKey(Filter)
  }).check(orderedRange("from", "to")),
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
