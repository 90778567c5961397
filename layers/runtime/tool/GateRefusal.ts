/**
 * Why the gate refuses a call, as what the model reads of it.
 */
import { Cause, Exit, Result } from "effect"
import type { Json } from "../../../src/value/Canonical.ts"
import { jsonUnits } from "../../../src/conversation/PromptSize.ts"
import { truncateUnits, isBeyondBytes } from "../../../src/value/CutText.ts"
import { readJson } from "../../../src/value/BoundedJson.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { ToolPolicyError, ToolTerminalError, ToolUserError } from "../../../src/error/ToolError.ts"
import type { CallId } from "../../../src/value/Ids.ts"
import { contextFor } from "../../../src/run/RunContext.ts"
import { strayMembers, suggestNames } from "../../../src/value/Nearest.ts"
import { arguments_bytes_default } from "../../../src/tool/ToolSpec.ts"
import { refusalText } from "../../../src/schema/SchemaIssues.ts"
import type { AgentTool, CallHost, StartedWork } from "./CallHost.ts"
import { callFinished } from "./CallOutcome.ts"
import { failedOutcome } from "./FailedOutcome.ts"

/** What a UTF-16 unit takes in JSON at most, in bytes: a control character is six. */
const unit_bytes_max = 6

/** A call that ends with this error, and runs nothing. */
export const refuseCall = (call: CallId, error: ToolError): StartedWork => ({
  effect: Exit.succeed(callFinished(call, failedOutcome(error)))
})

/** Arguments that are no JSON, are beyond its bounds, or would be altered: then the place is named. */
export const malformedArguments = (text: string): ToolUserError => {
  const read = readJson(text)
  const place = Result.isFailure(read) ? read.failure.path : undefined
  return new ToolUserError({
    kind: "invalid_args",
    reason: "MALFORMED_JSON",
    message:
      place === undefined || Result.isSuccess(read)
        ? `the arguments were not JSON: ${truncateUnits(text, 200)}`
        : `the arguments are refused: ${read.failure.message}`
  })
}

/** `more` follows the text of the schema's issue. */
export const invalidArguments = (
  { cause }: Exit.Failure<unknown, unknown>,
  more = ""
): ToolUserError =>
  new ToolUserError({
    kind: "invalid_args",
    reason: "INPUT_SCHEMA",
    message: `${refusalText(Cause.squash(cause))}${more}`
  })

/** Arguments that are larger than the tool takes. Undefined = they are not. Most are so short that they are not encoded. */
export const largeArguments = (
  { state }: CallHost,
  { spec }: AgentTool,
  given: unknown
): ToolUserError | undefined => {
  const { arguments_bytes_max = arguments_bytes_default, name } = spec
  // In a short run there is nothing large (bench row `step`).
  if (state.units * unit_bytes_max <= arguments_bytes_max) return undefined
  if (jsonUnits(given as Json) * unit_bytes_max <= arguments_bytes_max) return undefined
  if (!isBeyondBytes(JSON.stringify(given), arguments_bytes_max)) return undefined
  return new ToolUserError({
    kind: "invalid_args",
    reason: "ARGUMENTS_TOO_LARGE",
    message: `the arguments of "${name}" have more than ${arguments_bytes_max} bytes: pass less at a time`
  })
}

/** The same with the members that the tool's input schema does not have. */
export const invalidToolArguments = (
  { spec }: AgentTool,
  given: unknown,
  exit: Exit.Failure<unknown, unknown>
): ToolUserError => invalidArguments(exit, strayMembers(given, spec.input_schema))

/** The tool needs secrets that this process was not told, and that nobody can read again. */
const lostSecrets = (name: string, lost: ReadonlyArray<string>): ToolTerminalError =>
  new ToolTerminalError({
    kind: "internal",
    reason: "RUN_CONTEXT_SECRETS",
    message: `"${name}" needs secrets of this run (${lost.join(", ")}) that ended with the process that was told them: its message has to be sent again under its idempotency key`
  })

/** Why the tool cannot read the context of the run, without a quote where there are secrets. Undefined = it can. */
export const contextRefusal = (
  { context, spec }: AgentTool,
  { accepted, secrets }: CallHost
): ToolTerminalError | undefined => {
  if (context === undefined) return undefined
  const lost =
    secrets === undefined
      ? (accepted.context_secrets ?? []).filter((name) => context.secrets.includes(name))
      : []
  if (lost.length > 0) return lostSecrets(spec.name, lost)
  const decoded = contextFor(context, { context: accepted.context, secrets })
  if (Exit.isSuccess(decoded)) return undefined
  const why =
    context.secrets.length > 0 ? "it has changed since" : refusalText(Cause.squash(decoded.cause))
  return new ToolTerminalError({
    kind: "internal",
    reason: "RUN_CONTEXT",
    message: `the context of the run is not what "${spec.name}" reads: ${why}`
  })
}

export const unknownTool = (name: string, { agent }: CallHost): ToolUserError => {
  const known = suggestNames(name, [
    ...agent.tools.keys(),
    ...agent.specialists.keys(),
    ...(agent.handoffs?.keys() ?? [])
  ])
  return new ToolUserError({
    kind: "not_found",
    reason: "UNKNOWN_TOOL",
    message: `there is no tool "${truncateUnits(name, 64)}".${known}`
  })
}

export const toolsStopped = (): ToolPolicyError =>
  new ToolPolicyError({
    kind: "permission",
    reason: "KILL_SWITCH",
    message: "every tool is stopped."
  })

/** `isByRole`: a rule refuses the roles of the sender, and not the tool as such. The model is not told which. */
export const permissionDenied = ({ spec }: AgentTool, isByRole: boolean): ToolPolicyError => {
  const whom = isByRole ? " for whoever sent the message" : ""
  return new ToolPolicyError({
    kind: "permission",
    reason: "PERMISSION_DENIED",
    message: `"${spec.name}" is not permitted${whom}.`
  })
}
