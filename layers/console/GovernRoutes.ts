/** The routes of what operators govern. */
import { Effect, Schema } from "effect"
import * as AgentOperations from "../../src/operation/AgentOperations.ts"
import * as ApprovalOperations from "../../src/operation/ApprovalOperations.ts"
import * as CostOperations from "../../src/operation/CostOperations.ts"
import * as ToolOperations from "../../src/operation/ToolOperations.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine } from "./ApiLine.ts"
import { costsPage } from "./CostPages.ts"
import { agentsPage, switchPage } from "./GovernPages.ts"
import { costQuery, decisionQuery } from "./ListQueries.ts"
import { decisionsPage, insightsPage } from "./RegisterPages.ts"
import { policyPage, toolsPage } from "./RulePages.ts"
import { may } from "./Shell.ts"
import type { Asked, Page } from "./SignedPages.ts"
import { decoded, nothingHere, page_max, perform, queryOf, signedPage, to } from "./SignedPages.ts"

/** The days of a year, and more: all of the longest time that the page of costs offers. */
const days_max = 400
/** Two weeks: the time of the picture of calls, in ms. */
const times_ms = 1_209_600_000

const agents = signedPage((asked) =>
  Effect.map(perform(operations.agents, {}, asked), ({ items }) =>
    agentsPage(asked.view, items, apiLine(asked, AgentOperations.list, {}))
  )
)

const costs = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { chosen, query } = yield* costQuery(asked)
    const found = yield* perform(operations.costs, query, asked)
    const { after: _, ...all } = query
    const days = { ...all, by: "day", limit: days_max } as const
    const { items: byDay } = yield* perform(operations.costs, days, asked)
    const { items: budgets } = yield* perform(operations.budgets, { limit: page_max }, asked)
    const line = apiLine(asked, CostOperations.list, query)
    return costsPage(asked.view, { ...found, budgets, byDay, chosen, from: query.from, line })
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

const decisions = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { filters, query } = yield* decisionQuery(asked)
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
    const line = apiLine(asked, ToolOperations.policy, {})
    return policyPage(asked.view, { ...inForce, isStopped: on, line })
  })
)

const tools = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { items } = yield* perform(operations.tools, {}, asked)
    const servers = may(asked.view, operations.mcpServers.operation.right)
      ? yield* perform(operations.mcpServers, {}, asked)
      : undefined
    const { items: offers } = yield* perform(operations.workerTools, {}, asked)
    const from = asked.view.now - times_ms
    const byDay = yield* perform(operations.toolTimes, { by: "day", from }, asked)
    const byTool = yield* perform(operations.toolTimes, {}, asked)
    return toolsPage(asked.view, {
      times: { byTool, byDay, from },
      offers,
      tools: items,
      servers: servers?.items,
      line: apiLine(asked, ToolOperations.list, {})
    })
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
