/**
 * Results of calls that no tool gave: the event, and the refusal by a policy or a limit of the run.
 */
import { failureOf, ToolPolicyError } from "../error/ToolError.ts"
import type { CallId } from "../value/Ids.ts"
import type { Outcome, RunEvent } from "./RunEvent.ts"

export const callSettled = (call: CallId, outcome: Outcome): RunEvent => ({
  _tag: "CallSettled",
  call,
  outcome
})

export const policyFailure = (reason: string, message: string): Outcome => ({
  _tag: "Failed",
  error: failureOf(new ToolPolicyError({ kind: "permission", reason, message }))
})
