/**
 * What people are shown of a question, from its record or from the event of the run that asks. A decision counts only where
 * both are equal: whoever reaches the database can change the record, and the event is what runs.
 */
import { isSameJson } from "../Canonical.ts"
import type { RunId, Tenant } from "../Ids.ts"
import type { Question } from "../run/RunEvent.ts"
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
  | "client"
>

/** From a record. */
export const shownOf = ({
  approvers,
  arguments: args,
  call,
  client,
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
  ...(expires_at === undefined ? undefined : { expires_at }),
  ...(client === undefined ? undefined : { client })
})

/** From the run's event that requests the approval. */
export const shownByRequest = (
  run_id: RunId,
  tenant: Tenant,
  request: Omit<Question, "_tag">
): ShownApproval => shownOf({ ...request, id: request.approval, run_id, tenant })

/** All members, in alphabetical order. */
const members: Readonly<Record<keyof ShownApproval, true>> = {
  approvers: true,
  arguments: true,
  call: true,
  client: true,
  digest: true,
  expires_at: true,
  id: true,
  payload: true,
  policy_version: true,
  run_id: true,
  tenant: true,
  tool_key: true
}
const names: ReadonlyArray<string> = Object.keys(members)

/** The members in which two differ, in alphabetical order; empty = they are equal. */
export const differencesOf = (a: ShownApproval, b: ShownApproval): ReadonlyArray<string> => {
  const one: Readonly<Record<string, unknown>> = { ...a }
  const other: Readonly<Record<string, unknown>> = { ...b }
  return names.filter((name) => !isSameJson(one[name], other[name]))
}

/** The marks that the reader of a pending record is given: is its run in quarantine, and does it say what the run requested? */
export const marksOf = (
  record: Approval,
  run: {
    readonly tenant: Tenant
    readonly quarantined: boolean
    /** What the run's journal says; undefined = there is no such question in it. */
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
