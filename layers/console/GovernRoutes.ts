/** The routes of what operators govern. */
import { Effect, Schema } from "effect"
import * as ApprovalOperations from "../../src/operation/ApprovalOperations.ts"
import * as CostOperations from "../../src/operation/CostOperations.ts"
import { defined } from "../../src/value/PlainObject.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine } from "./ApiLine.ts"
import { agentsPage, costsPage, groups, spans, switchPage } from "./GovernPages.ts"
import { decisionsPage, insightsPage, settled } from "./RegisterPages.ts"
import { policyPage, toolsPage } from "./RulePages.ts"
import { may } from "./Shell.ts"
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
    const line = apiLine(asked, CostOperations.list, query)
    return costsPage(asked.view, { ...found, budgets, by, days: Number(days), line })
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

const Day = Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/))

const DecisionQuery = Schema.Struct({
  status: Schema.optionalKey(Schema.Literals(settled)),
  from: Schema.optionalKey(Day),
  until: Schema.optionalKey(Day),
  tool: Schema.optionalKey(Schema.String),
  agent: Schema.optionalKey(Schema.String),
  decided_by: Schema.optionalKey(Schema.String),
  decision: Schema.optionalKey(Schema.String),
  after: Schema.optionalKey(Schema.String)
})

const unfit = {
  status: 422,
  title: "No such filter",
  detail:
    "A filter of the register does not fit. Go back, and look at the agent's name and the days."
}

const dayOf = (day: string | undefined) =>
  day === undefined ? undefined : Date.parse(`${day}T00:00:00Z`)

const decisions = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const given = queryOf(asked, Object.keys(DecisionQuery.fields))
    const { after, ...rest } = yield* decoded(DecisionQuery, given, unfit)
    const filters = { status: "decided", ...rest } as const
    const { from, until, ...others } = filters
    const end = dayOf(until)
    const query = yield* decoded(
      ApprovalOperations.list.query,
      {
        ...others,
        ...defined({
          after,
          requested_from: dayOf(from),
          requested_to: end === undefined ? undefined : end + day_ms
        }),
        order: "newest",
        limit: page_max
      },
      unfit
    )
    const found = yield* perform(operations.approvals, query, asked)
    const line = apiLine(asked, ApprovalOperations.list, query)
    return decisionsPage(asked.view, { ...found, filters, line })
  })
)

const insights = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const given = queryOf(asked, ["by"])
    const query = yield* decoded(ApprovalOperations.insights.query, given, nothingHere)
    const found = yield* perform(operations.approvalInsights, query, asked)
    const line = apiLine(asked, ApprovalOperations.insights, query)
    return insightsPage(asked.view, { ...found, by: query.by ?? "tool", line })
  })
)

const policy = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const inForce = yield* perform(operations.policy, {}, asked)
    const { on } = yield* perform(operations.toolsStopped, {}, asked)
    return policyPage(asked.view, { ...inForce, isStopped: on })
  })
)

const tools = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { items } = yield* perform(operations.tools, {}, asked)
    const servers = may(asked.view, operations.mcpServers.operation.right)
      ? yield* perform(operations.mcpServers, {}, asked)
      : undefined
    return toolsPage(asked.view, items, servers?.items)
  })
)

/** Decisions, policy, tools, agents, costs and the kill switch. */
export const governing: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/decisions", answer: decisions },
  { method: "GET", path: "/console/decisions/insights", answer: insights },
  { method: "GET", path: "/console/policy", answer: policy },
  { method: "GET", path: "/console/tools", answer: tools },
  { method: "GET", path: "/console/agents", answer: agents },
  { method: "GET", path: "/console/costs", answer: costs },
  { method: "GET", path: "/console/kill-switch", answer: killSwitch },
  { method: "POST", path: "/console/kill-switch", answer: turn }
]
