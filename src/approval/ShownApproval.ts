/**
 * What people are shown of a question, taken from its record or from the run's event that asks it. A decision counts only if
 * both are equal: somebody with access to the database can change the record, but the event determines what runs.
 */
import { isSameJson } from "../value/Canonical.ts"
import type { RunId, Tenant } from "../value/Ids.ts"
import type { Question } from "../run/RunEvent.ts"
import type { Approval } from "./Approval.ts"

/**
 * The members of an approval without its status, its answer, the times of asking and answering, and what is derived from them.
 */
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

/** Takes the shown members from a record. */
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

/** Takes the shown members from the run's event that requests the approval. */
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

/** The names of the members in which the two differ, in alphabetical order; empty = they are equal. */
export const differencesOf = (a: ShownApproval, b: ShownApproval): ReadonlyArray<string> => {
  const one: Readonly<Record<string, unknown>> = { ...a }
  const other: Readonly<Record<string, unknown>> = { ...b }
  return names.filter((name) => !isSameJson(one[name], other[name]))
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
