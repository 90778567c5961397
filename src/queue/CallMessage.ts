/**
 * A tool call and its result as SemStreams' messages, which the tool queue carries, the subjects and consumers of these messages,
 * and the refusal of a call that a person has to approve first.
 */
import { Schema } from "effect"
import { rejected_prefix } from "../conversation/Transcript.ts"
import { ToolErrorKind, ToolPolicyError } from "../error/ToolError.ts"
import type { Outcome } from "../run/RunEvent.ts"
import { errorKindOf } from "../run/RunEvent.ts"
import { truncateUnits } from "../value/CutText.ts"
import { defined } from "../value/PlainObject.ts"

const Open = Schema.Record(Schema.String, Schema.Json)

/** `approved_by`, `loop_id` and `trace_id` are stamped by the sender's runtime, never taken from a model. */
export const CallMessage = Schema.Struct({
  id: Schema.NonEmptyString,
  name: Schema.NonEmptyString,
  arguments: Schema.optionalKey(Open),
  metadata: Schema.optionalKey(Open),
  loop_id: Schema.optionalKey(Schema.String),
  trace_id: Schema.optionalKey(Schema.String),
  approved_by: Schema.optionalKey(Schema.String)
})
export interface CallMessage extends Schema.Schema.Type<typeof CallMessage> {}

/**
 * `error` and `error_kind` are both present or both absent. If `stop_loop` is true, the loop ends with `content` as its result.
 */
export const ResultMessage = Schema.Struct({
  call_id: Schema.NonEmptyString,
  name: Schema.optionalKey(Schema.String),
  content: Schema.optionalKey(Schema.String),
  error: Schema.optionalKey(Schema.String),
  error_kind: Schema.optionalKey(ToolErrorKind),
  metadata: Schema.optionalKey(Open),
  loop_id: Schema.optionalKey(Schema.String),
  trace_id: Schema.optionalKey(Schema.String),
  stop_loop: Schema.optionalKey(Schema.Boolean)
})
export interface ResultMessage extends Schema.Schema.Type<typeof ResultMessage> {}

const errorText = (outcome: Outcome): string => {
  switch (outcome._tag) {
    case "Denied":
      return rejected_prefix + outcome.reason
    case "Revised":
      return `${rejected_prefix}another proposal is wanted: ${outcome.note}`
    case "Expired":
      return `${rejected_prefix}the approval timed out`
    case "Cancelled":
      return "the call was interrupted"
    case "Unknown":
      return "it is not known whether the call had its side effect"
    case "Failed":
      return outcome.error.message
    case "Value":
      return ""
  }
}

/** The result message of a call. Its id, loop and trace are those of the call. */
export const resultOf = (call: CallMessage, outcome: Outcome): ResultMessage => {
  const error_kind = errorKindOf(outcome)
  return {
    call_id: call.id,
    name: call.name,
    ...(outcome._tag === "Value" ? { content: outcome.json } : { error: errorText(outcome) }),
    ...(error_kind === null ? undefined : { error_kind }),
    ...defined({ loop_id: call.loop_id, trace_id: call.trace_id })
  }
}

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

/** The subject of all calls of one tool, given by its plain name or registry key. */
export const executeSubject = (tool: string): string => `tool.execute.${tool}`

/** The subject of the one result of a call. */
export const resultSubject = (call_id: string): string => `tool.result.${call_id}`

const withSuffix = (name: string, suffix: string | undefined): string =>
  suffix === undefined || suffix === "" ? name : `${name}-${suffix}`

/** The name of the consumer of one tool's calls. */
export const consumerNameForTool = (tool: string, suffix?: string): string =>
  withSuffix(`tool-exec-${tool.replaceAll(/[._]/g, "-")}`, suffix)

/** The name of the consumer of a whole subject, which may end in a wildcard. */
export const consumerNameForSubject = (subject: string, suffix?: string): string =>
  withSuffix(
    `agentic-tools-${subject.replaceAll(".", "-").replaceAll(">", "all").replaceAll("*", "any")}`,
    suffix
  )
