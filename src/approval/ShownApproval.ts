/**
 * What people are shown of a question, taken from its record or from the run's event that asks it. A decision counts only if
 * both are equal: somebody with access to the database can change the record, but the event determines what runs.
 */
import { Struct } from "effect"
import { isSameJson } from "../value/Canonical.ts"
import type { RunId, Tenant } from "../value/Ids.ts"
import type { Question } from "../run/RunEvent.ts"
import type { Approval } from "./Approval.ts"

/**
 * The members of an approval without its status, its answer, the times of asking and answering, and what is derived from them; in
 * alphabetical order.
 */
const members = [
  "approvers",
  "arguments",
  "call",
  "client",
  "digest",
  "expires_at",
  "id",
  "payload",
  "policy_version",
  "run_id",
  "tenant",
  "tool_key"
] as const

export type ShownApproval = Pick<Approval, (typeof members)[number]>

/** Takes the shown members from a record. */
export const shownOf = (record: ShownApproval): ShownApproval => Struct.pick(record, members)

/** Takes the shown members from the run's event that requests the approval. */
export const shownByRequest = (
  run_id: RunId,
  tenant: Tenant,
  request: Omit<Question, "_tag">
): ShownApproval => shownOf({ ...request, id: request.approval, run_id, tenant })

/** The names of the members in which the two differ, in alphabetical order; empty = they are equal. */
export const differencesOf = (a: ShownApproval, b: ShownApproval): ReadonlyArray<string> => {
  return members.filter((name) => !isSameJson(a[name], b[name]))
}

/**
 * The marks for the reader of a pending record: whether its run is in quarantine, and whether it differs from what the run
 * requested. A record that is not pending has none.
 */
export const marksOf = (
  record: Approval,
  run: {
    readonly tenant: Tenant
    readonly quarantined: boolean
    /** The question as the run's journal has it; undefined = the journal has no such question. */
    readonly requested: Omit<Question, "_tag"> | undefined
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
