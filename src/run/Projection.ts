/**
 * What commits with an event beside it: approval records, the task's status, the answer in the conversation. A pure
 * function, so that every journal writes the same.
 */
import type { Approval, ApprovalStatus, Decision } from "../approval/Approval.ts"
import type { TaskStatus } from "../delivery/AgentTask.ts"
import type { ApprovalId, RunId, Tenant } from "../Ids.ts"
import type { RunEvent } from "./RunEvent.ts"

export interface ApprovalChange {
  readonly id: ApprovalId
  readonly status: Exclude<ApprovalStatus, "pending">
  readonly decision?: Decision
  readonly by?: string
}

export interface Projection {
  readonly requested: ReadonlyArray<Approval>
  readonly answered: ReadonlyArray<ApprovalChange>
  /** The task's new status, when it changes. */
  readonly task: { readonly status: TaskStatus; readonly reason?: string } | undefined
  /** The assistant's message, when the run ends with one. */
  readonly answer: string | undefined
}

const nothing: Projection = { requested: [], answered: [], task: undefined, answer: undefined }

/** The projections of events appended at `at` (ms since 1970). Costs nothing for those that have none. */
export const project = (
  run: { readonly run_id: RunId; readonly tenant: Tenant },
  events: ReadonlyArray<RunEvent>,
  at: number
): Projection => {
  let requested: Array<Approval> | undefined
  let answered: Array<ApprovalChange> | undefined
  let task: Projection["task"]
  let answer: string | undefined
  for (const event of events) {
    switch (event._tag) {
      case "RunClaimed":
        task = { status: "processing" }
        break
      case "ApprovalRequested":
        ;(requested ??= []).push({
          id: event.approval,
          tenant: run.tenant,
          run_id: run.run_id,
          call: event.call,
          payload: event.payload,
          tool_key: event.tool_key,
          arguments: event.arguments,
          digest: event.digest,
          policy_version: event.policy_version,
          approvers: event.approvers,
          requested_at: at,
          ...(event.expires_at === undefined ? undefined : { expires_at: event.expires_at }),
          status: "pending"
        })
        break
      case "ApprovalDecided":
        ;(answered ??= []).push({
          id: event.approval,
          status: "decided",
          decision: event.decision,
          by: event.by
        })
        break
      case "ApprovalClosed":
        ;(answered ??= []).push({
          id: event.approval,
          status: event.how,
          ...(event.by === undefined ? undefined : { by: event.by })
        })
        break
      case "RunEnded":
        task =
          event.status === "complete"
            ? { status: "complete" }
            : { status: "failed", reason: event.reason }
        if (event.text !== "") answer = event.text
        break
      default:
        break
    }
  }
  return requested === undefined &&
    answered === undefined &&
    task === undefined &&
    answer === undefined
    ? nothing
    : { requested: requested ?? [], answered: answered ?? [], task, answer }
}
