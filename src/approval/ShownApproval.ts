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

const textOf = (value: unknown): string => (value === undefined ? "" : canonical(value))
