/** The refusal of a queued call that a person has to approve first, as its message says it. */
import { ToolPolicyError } from "../error/ToolError.ts"
import { truncateUnits } from "../value/CutText.ts"

/** The beginning of the refusal of a call that a person has to approve first. */
export const required_prefix = "approval_required: "

export const approval_required_reason = "APPROVAL_REQUIRED"

/** The refusal of a call that has not been approved, by its tool's name. */
export const approvalRequired = (tool: string): ToolPolicyError =>
  new ToolPolicyError({
    kind: "permission",
    reason: approval_required_reason,
    message: `${required_prefix}Tool '${truncateUnits(tool, 64)}' requires human approval before execution`
  })

/** Whether a text is the refusal of a call that a person has to approve first. */
export const isApprovalRequired = (text: string): boolean => text.startsWith(required_prefix)
