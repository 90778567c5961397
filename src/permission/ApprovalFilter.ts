/**
 * Calls in SemStreams' shape that a list of tool names keeps from running until a person has approved them. Our own gate
 * asks instead (`Policy.approval_required`); an executor that nobody waits for refuses.
 */
import { required_prefix } from "../semstreams/Approvals.ts"
import { ToolPolicyError } from "../error/ToolError.ts"
import type { CallMessage } from "../semstreams/CallMessage.ts"

/** The refusal of one call, by its tool's name. */
export const approvalRequired = (tool: string): ToolPolicyError =>
  new ToolPolicyError({
    kind: "permission",
    reason: "APPROVAL_REQUIRED",
    message: `${required_prefix}Tool '${tool.slice(0, 64)}' requires human approval before execution`
  })

/** Is this the text of such a refusal? */
export const isApprovalRequired = (text: string): boolean => text.startsWith(required_prefix)

type Call = Pick<CallMessage, "id" | "name" | "approved_by">

export interface Filtered<C extends Call> {
  readonly approved: ReadonlyArray<C>
  readonly rejected: ReadonlyArray<{ readonly call: C; readonly error: ToolPolicyError }>
}

/** No list, and an empty one, let every call pass; so does a name in `approved_by`, which only the runtime stamps. */
export const filterApproval = <C extends Call>(
  required: ReadonlyArray<string> | null | undefined,
  calls: ReadonlyArray<C>
): Filtered<C> => {
  const waits = ({ approved_by, name }: C) =>
    (required?.includes(name) ?? false) && (approved_by ?? "") === ""
  return {
    approved: calls.filter((call) => !waits(call)),
    rejected: calls.filter(waits).map((call) => ({ call, error: approvalRequired(call.name) }))
  }
}
