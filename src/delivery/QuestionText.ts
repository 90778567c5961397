/**
 * A question and its end in words, as channels tell them. Arguments are in it as the person who decides sees them: redacted, and
 * at most 600 characters.
 */
import type { Approval } from "../approval/Approval.ts"
import { argsSummary } from "../approval/ArgsSummary.ts"
import { cutText } from "../value/CutText.ts"
import { notice_units_max } from "./Notice.ts"

/** So much of what a person wrote leaves room for the question. */
const said_units_max = 2_000

const asking = ({ payload }: Approval): string =>
  `${payload.agent_name} asks to run ${payload.tool_name}. ${payload.effect_description}\n${payload.args_summary}`

export const questionText = (approval: Approval): string =>
  cutText(asking(approval), notice_units_max)

const because = (text: string | undefined): string =>
  text === undefined ? "." : `: ${cutText(text, said_units_max)}`

/** Who decided, and who acted for them. */
const deciderOf = ({ decided_by = "nobody", decided_via }: Approval): string =>
  decided_via === undefined ? decided_by : `${decided_by} through ${decided_via}`

/** Without a decision, the question was a call of the conversation's client. */
const decided = (approval: Approval): string => {
  const { decision } = approval
  const by = deciderOf(approval)
  switch (decision?._tag) {
    case undefined:
      return `Answered by ${by}.`
    case "Approve":
      return `Approved by ${by}${because(decision.note)}`
    case "Deny":
      return `Denied by ${by}${because(decision.reason)}`
    case "RequestRevision":
      return `Sent back by ${by}${because(decision.note)}`
    case "Modify":
      return `Approved by ${by} with other arguments, ${argsSummary(decision.arguments)}${because(decision.note)}`
  }
}

const stopped = (approval: Approval, reason: string | undefined): string => {
  const { decided_by: by } = approval
  const whom = by === undefined || by === "runtime" ? "" : ` by ${deciderOf(approval)}`
  return `Closed, because its run was stopped${whom}${because(reason)}`
}

/** How the question ended, by whom and why, and below it what was asked. `stop_reason`: why the run of a cancelled one stopped. */
export const settledText = (approval: Approval, stop_reason?: string): string => {
  const end =
    approval.status === "decided"
      ? decided(approval)
      : approval.status === "expired"
        ? "Expired: nobody decided in time."
        : stopped(approval, stop_reason)
  return cutText(`${end}\n${asking(approval)}`, notice_units_max)
}
