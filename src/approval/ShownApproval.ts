/**
 * What of a question people are shown, taken from its record or from the run's own event. A decision counts only where
 * both say the same: the record can be changed by whoever reaches the database, and the event is what runs.
 */
import { canonical } from "../Canonical.ts"
import type { RunId, Tenant } from "../Ids.ts"
import type { ApprovalRequested } from "../run/RunEvent.ts"
import type { Approval } from "./Approval.ts"

/** All of a question but its times of asking and answering, and its answer. */
export type ShownApproval = Pick<
  Approval,
  | "id"
  | "tenant"
  | "run_id"
  | "call"
  | "payload"
  | "tool_key"
  | "arguments"
  | "digest"
  | "policy_version"
  | "approvers"
  | "expires_at"
>

/** Of a record. */
export const shownOf = ({
  approvers,
  arguments: args,
  call,
  digest,
  expires_at,
  id,
  payload,
  policy_version,
  run_id,
  tenant,
  tool_key
}: ShownApproval): ShownApproval => ({
  id,
  tenant,
  run_id,
  call,
  payload,
  tool_key,
  arguments: args,
  digest,
  policy_version,
  approvers,
  ...(expires_at === undefined ? undefined : { expires_at })
})

/** Of the event of a run that asks. */
export const askedOf = (
  run_id: RunId,
  tenant: Tenant,
  request: Omit<ApprovalRequested, "_tag">
): ShownApproval => shownOf({ ...request, id: request.approval, run_id, tenant })

/** The members in which two differ, in alphabetical order; empty = they say the same. */
export const differencesOf = (a: ShownApproval, b: ShownApproval): ReadonlyArray<string> => {
  const [one, other] = [shownOf(a), shownOf(b)] as ReadonlyArray<Record<string, unknown>>
  const names = new Set([...Object.keys(one!), ...Object.keys(other!)])
  return [...names].filter((name) => textOf(one![name]) !== textOf(other![name])).sort()
}

/** What a reader of a pending record should know of it: its run's mark, and whether it says what the run asked. */
export const marksOf = (
  record: Approval,
  run: {
    readonly tenant: Tenant
    readonly quarantined: boolean
    /** What the run's journal says; undefined = there is no such question in it. */
    readonly asked: Omit<ApprovalRequested, "_tag"> | undefined
  }
): Pick<Approval, "quarantined" | "altered"> => {
  if (record.status !== "pending") return {}
  // A journal that does not fold proves nothing.
  if (run.quarantined) return { quarantined: true }
  const { asked } = run
  const isAsked =
    asked !== undefined &&
    asked.shown_digest === record.shown_digest &&
    differencesOf(record, askedOf(record.run_id, run.tenant, asked)).length === 0
  return isAsked ? {} : { altered: true }
}

const textOf = (value: unknown): string => (value === undefined ? "" : canonical(value))
