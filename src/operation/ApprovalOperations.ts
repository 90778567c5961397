/**
 * The operations on approvals, and decisions on them.
 */
import { Schema } from "effect"
import { Approval, AnyDecision, DecisionPayload } from "../approval/Approval.ts"
import { ApprovalId } from "../value/Ids.ts"
import { UnknownCall } from "../run/UnknownCall.ts"
import { ApprovalInsight, InsightGroup } from "../approval/ApprovalInsights.ts"
import { Moment, orderedRange } from "./Page.ts"
import { ApprovalFilters } from "./Filters.ts"
import { operation } from "./Operation.ts"

const params = Schema.Struct({ id: ApprovalId })

export const list = operation({
  id: "list",
  name: "approvals",
  method: "GET",
  path: "/v1/approvals",
  query: ApprovalFilters,
  success: Schema.Struct({
    items: Schema.Array(Approval),
    next_after: Schema.optionalKey(ApprovalId),
    /** Calls with an unknown outcome, which an operator has to settle: oldest first, at most 100. Absent = none. */
    unknown_calls: Schema.optionalKey(Schema.Array(UnknownCall))
  }),
  right: "inspect",
  gives: "items",
  summary: "Approvals, by what was asked and how it was decided",
  description:
    "The oldest first, unless `order` is `newest`. With a filter but `status` and `run_id`, a page looks at 2,000 approvals: it may have few items, and a `next_after` all the same."
})

export const insights = operation({
  id: "insights",
  name: "approvalInsights",
  method: "GET",
  path: "/v1/approval-insights",
  query: Schema.Struct({
    /** Absent = `tool`. */
    by: Schema.optionalKey(InsightGroup),
    /** Only questions that were asked at or after `requested_from` and before `requested_to`, in ms since 1970. */
    requested_from: Schema.optionalKey(Moment),
    requested_to: Schema.optionalKey(Moment)
  }).check(orderedRange("requested_from", "requested_to")),
  success: Schema.Struct({
    items: Schema.Array(ApprovalInsight),
    /** Present = there are older ones, which were not looked at. */
    is_cut: Schema.optionalKey(Schema.Literal(true))
  }),
  right: "inspect",
  summary: "How the last 2,000 approvals went, by tool, agent, person or day"
})

export const get = operation({
  id: "get",
  name: "approval",
  method: "GET",
  path: "/v1/approvals/:id",
  params,
  success: Approval,
  problems: [404],
  right: "inspect",
  args: ["id"],
  summary: "An approval"
})

export const decide = operation({
  id: "decide",
  name: "decide",
  method: "POST",
  path: "/v1/approvals/:id/decision",
  params,
  payload: DecisionPayload,
  takes: AnyDecision,
  success: Approval,
  problems: [404, 409, 410],
  right: "decide",
  args: ["id"],
  summary: "Decide",
  description:
    "Of several decisions one wins; the others are told so (409). A question that waited too long is gone (410)."
})
