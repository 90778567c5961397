/**
 * What people are shown of a question, from its record or from the event of the run that asks. A decision counts only where
 * both are equal: whoever reaches the database can change the record, and the event is what runs.
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

/** From a record. */
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

/** From the run's event that requests the approval. */
export const shownByRequest = (
  run_id: RunId,
  tenant: Tenant,
  request: Omit<ApprovalRequested, "_tag">
): ShownApproval => shownOf({ ...request, id: request.approval, run_id, tenant })

/** The members in which two differ, in alphabetical order; empty = they are equal. */
export const differencesOf = (a: ShownApproval, b: ShownApproval): ReadonlyArray<string> => {
  const one = new Map<string, unknown>(Object.entries(shownOf(a)))
  const other = new Map<string, unknown>(Object.entries(shownOf(b)))
  const names = new Set([...one.keys(), ...other.keys()])
  return [...names].filter((name) => textOf(one.get(name)) !== textOf(other.get(name))).sort()
}

/** The marks that the reader of a pending record is given: is its run in quarantine, and does it say what the run requested? */
export const marksOf = (
  record: Approval,
  run: {
    readonly tenant: Tenant
    readonly quarantined: boolean
    /** What the run's journal says; undefined = there is no such question in it. */
    readonly requested: Omit<ApprovalRequested, "_tag"> | undefined
  }
): Pick<Approval, "quarantined" | "altered"> => {
  if (record.status !== "pending") return {}
  // Where the journal does not fold, it cannot be compared.
  if (run.quarantined) return { quarantined: true }
  const { requested } = run
  const isRequested =
    requested !== undefined &&
    requested.shown_digest === record.shown_digest &&
    differencesOf(record, shownByRequest(record.run_id, run.tenant, requested)).length === 0
  return isRequested ? {} : { altered: true }
}

const textOf = (value: unknown): string => (value === undefined ? "" : canonical(value))
