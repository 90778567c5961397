/**
 * How questions went, counted by tool, agent or person: what is nearly always approved may be authorised in advance, and what waits
 * long needs somebody who decides.
 */
import { Schema } from "effect"
import { defined } from "../value/PlainObject.ts"
import { dayOf } from "../value/Times.ts"
import type { Approval } from "./Approval.ts"
import { decisionNames } from "./Approval.ts"

/**
 * What questions are counted by. `person`: who answered; what nobody answered is not counted. `day`: when they were asked, a day in
 * UTC such as `2026-11-30`.
 */
export const InsightGroup = Schema.Literals(["tool", "agent", "person", "day"])
export type InsightGroup = typeof InsightGroup.Type

/** The questions of one tool, agent, person or day. Each is counted once beside `asked`. */
export const ApprovalInsight = Schema.Struct({
  key: Schema.String,
  asked: Schema.Int,
  pending: Schema.Int,
  approve: Schema.Int,
  modify: Schema.Int,
  request_revision: Schema.Int,
  deny: Schema.Int,
  expired: Schema.Int,
  cancelled: Schema.Int,
  /** How long those that were answered waited, in ms: half of them no longer. Absent = none was answered. */
  wait_median_ms: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "ApprovalInsight" })
export interface ApprovalInsight extends Schema.Schema.Type<typeof ApprovalInsight> {}

const keyOf = (
  by: InsightGroup,
  { decided_by, decision, payload, requested_at }: Approval
): string | undefined => {
  if (by === "tool") return payload.tool_name
  if (by === "agent") return payload.agent_name
  if (by === "day") return dayOf(requested_at)
  // Of a cancelled one it is who cancelled its run.
  return decision === undefined ? undefined : decided_by
}

const medianOf = (numbers: ReadonlyArray<number>): number | undefined =>
  numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) / 2)]

const insightOf = (key: string, approvals: ReadonlyArray<Approval>): ApprovalInsight => {
  const counts = {
    pending: 0,
    approve: 0,
    modify: 0,
    request_revision: 0,
    deny: 0,
    expired: 0,
    cancelled: 0
  }
  for (const { decision, status } of approvals) {
    if (decision !== undefined) counts[decisionNames[decision._tag]]++
    else if (status !== "decided") counts[status]++
  }
  const waits = approvals.flatMap(({ decided_at, decision, requested_at }) =>
    decided_at === undefined || decision === undefined
      ? []
      : [Math.max(0, decided_at - requested_at)]
  )
  return {
    key,
    asked: approvals.length,
    ...counts,
    ...defined({ wait_median_ms: medianOf(waits) })
  }
}

/** The counts of these questions, those with the most questions first; days one after the other. */
export const insightsOf = (
  by: InsightGroup,
  approvals: ReadonlyArray<Approval>
): ReadonlyArray<ApprovalInsight> => {
  const groups = Map.groupBy(approvals, (each) => keyOf(by, each))
  groups.delete(undefined)
  return Array.from(groups, ([key = "", all]) => insightOf(key, all)).toSorted(
    (a, b) => (by === "day" ? 0 : b.asked - a.asked) || (a.key < b.key ? -1 : 1)
  )
}
