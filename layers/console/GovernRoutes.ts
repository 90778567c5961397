/** The routes of what operators govern. */
import { Effect, Schema } from "effect"
import * as CostOperations from "../../src/operation/CostOperations.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import { agentsPage, costsPage, groups, spans, switchPage } from "./GovernPages.ts"
import type { Asked, Page } from "./SignedPages.ts"
import { decoded, nothingHere, page_max, perform, queryOf, signedPage, to } from "./SignedPages.ts"

const day_ms = 86_400_000

const agents = signedPage((asked) =>
  Effect.map(perform(operations.agents, {}, asked), ({ items }) => agentsPage(asked.view, items))
)

const CostQuery = Schema.Struct({
  by: Schema.optionalKey(Schema.Literals(groups)),
  days: Schema.optionalKey(Schema.Literals(spans.map(String))),
  after: CostOperations.list.query.fields.after
})

const costs = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const given = queryOf(asked, ["after", "by", "days"])
    const { after, by = "agent", days = "30" } = yield* decoded(CostQuery, given, nothingHere)
    const from = Math.max(0, asked.view.now - Number(days) * day_ms)
    const query = { by, from, limit: page_max, ...defined({ after }) }
    const found = yield* perform(operations.costs, query, asked)
    const { items: budgets } = yield* perform(operations.budgets, { limit: page_max }, asked)
    return costsPage(asked.view, { ...found, budgets, by, days: Number(days) })
  })
)

const killSwitch = signedPage((asked) =>
  Effect.map(perform(operations.toolsStopped, {}, asked), ({ on }) => switchPage(asked.view, on))
)

const Turned = Schema.Struct({ on: Schema.Literals(["true", "false"]) })

const turn = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { on } = yield* decoded(Turned, { on: asked.fields["on"] }, nothingHere)
    yield* perform(operations.stopTools, { on: on === "true" }, asked)
    return to(`${asked.view.path}/kill-switch`)
  })
)

/** Agents, costs and the kill switch. */
export const governing: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/agents", answer: agents },
  { method: "GET", path: "/console/costs", answer: costs },
  { method: "GET", path: "/console/kill-switch", answer: killSwitch },
  { method: "POST", path: "/console/kill-switch", answer: turn }
]
