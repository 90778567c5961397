/**
 * The one way any tool runs. For each call: decode, allowlist, resolve, input schema, capability, permission, approval,
 * side effects that happen once, and then the body (`ToolBody`): limits, dispatch, attempts, output schema, size limit. What
 * cannot change between two calls is decided once for an agent and a tool (`ToolGate`). Everything up to the body is
 * synchronous, so that a call whose body is ready costs one fiber and no queue: the row "step" of the bench pays for it.
 */
import type { Cause } from "effect"
import { Effect, Exit } from "effect"
import type { CallId } from "../../../src/Ids.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import { effectivePermission, isDeniedByRole, no_policy } from "../../../src/permission/Policy.ts"
import { rolesText } from "../../../src/Principal.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { CallPhase } from "../../../src/run/RunState.ts"
import type { Permission } from "../../../src/tool/SideEffects.ts"
import { onLossOf } from "../../../src/tool/ToolSpec.ts"
import type { KillSwitch } from "../../../services/KillSwitch.ts"
import type { ApprovalServices } from "./CallApproval.ts"
import { approvalFor } from "./CallApproval.ts"
import type { AgentTool, CallHost, StartedWork } from "./CallHost.ts"
import { callFinished } from "./CallOutcome.ts"
import {
  invalidToolArguments,
  malformedArguments,
  permissionDenied,
  refuseCall,
  toolsStopped
} from "./GateRefusal.ts"
import { outcomeOfCause } from "./Failures.ts"
import { callIdentityOf } from "./IdempotencyIndex.ts"
import * as IdempotentCalls from "./IdempotentCalls.ts"
import * as ToolBody from "./ToolBody.ts"
import type { ToolGate } from "./ToolGate.ts"
import { makeToolGates, policySubjectOf } from "./ToolGate.ts"
import type { UnresolvedServices } from "./UnresolvedCall.ts"
import { startUnresolved } from "./UnresolvedCall.ts"

export interface ToolInvoker {
  readonly start: (host: CallHost) => StartedWork
  /** The end of a call whose fiber failed: a defect of the tool, or of the gate. */
  readonly died: (call: CallId, cause: Cause.Cause<never>) => RunInput
}

export interface Services extends ToolBody.Services, ApprovalServices, UnresolvedServices {
  /** Absent = categories decide. */
  readonly policy?: Policy
  /** Absent = there is no switch. */
  readonly killed?: KillSwitch["Service"]
}

type Rules = Pick<Services, "killed"> & { readonly policy: Policy }

/** May this tool send again, or be asked about, what was dispatched before? */
const mayTakeOver = (
  { key, spec }: AgentTool,
  { on_loss, tool = key }: Extract<CallPhase, { _tag: "Dispatched" }>
): boolean => tool === key && (on_loss !== "ask" || onLossOf(spec) === "ask")

const isKilled = ({ killed }: Rules, { accepted }: CallHost): boolean =>
  killed?.isOn(accepted.tenant) === true

const permissionOf = (
  rules: Rules,
  host: CallHost,
  { permission }: ToolGate,
  given: unknown
): Permission => {
  if (isKilled(rules, host)) return "deny"
  return typeof permission === "function" ? permission(given, host.accepted.roles) : permission
}

/** Would the gate let the tool run with these arguments, without asking a person? */
const permits = (rules: Rules, tool: AgentTool, host: CallHost, args: unknown): boolean =>
  !isKilled(rules, host) &&
  effectivePermission(rules.policy, policySubjectOf(tool), args, false, host.accepted.roles) ===
    "allow"

const refuseDenied = (
  rules: Rules,
  host: CallHost,
  tool: AgentTool,
  given: unknown
): StartedWork => {
  const { id } = host.call()
  if (isKilled(rules, host)) return refuseCall(id, toolsStopped())
  const isByRole = isDeniedByRole(rules.policy, policySubjectOf(tool), given)
  const roles = isByRole ? rolesText(host.accepted.roles) : undefined
  return refuseCall(id, permissionDenied(tool, roles))
}

export const make = (services: Services): ToolInvoker => {
  const rules: Rules = { ...services, policy: services.policy ?? no_policy }
  const body = ToolBody.make({
    ...services,
    permits: (tool, host, args) => permits(rules, tool, host, args)
  })
  const gatesOf = makeToolGates(rules.policy, body)
  const startOnce = IdempotentCalls.make({
    body,
    agentOf: services.agentOf ?? (() => undefined)
  })

  const startApproved = (host: CallHost, { start, tool }: ToolGate, args: unknown) =>
    Effect.flatMap(approvalFor(services, host, tool), (asks) =>
      asks === undefined ? body.run(start(host, host.call().id, args)) : Effect.succeed(asks)
    )

  const startBody = (host: CallHost, gate: ToolGate, args: unknown, isAsked: boolean) =>
    isAsked ? { effect: startApproved(host, gate, args) } : gate.start(host, host.call().id, args)

  const start = (host: CallHost): StartedWork => {
    const { arguments: given, id, phase, proposed } = host.call()
    if (proposed.malformed !== undefined) {
      return refuseCall(id, malformedArguments(proposed.malformed))
    }
    const gate = gatesOf(host.agent).get(proposed.name)
    if (gate === undefined) return startUnresolved(services, host)
    const { tool } = gate
    const unavailable = tool.refusal?.()
    if (unavailable !== undefined) return refuseCall(id, unavailable)
    const args = tool.decode(given)
    if (Exit.isFailure(args)) return refuseCall(id, invalidToolArguments(tool, given, args))
    if (gate.refusal !== undefined) return refuseCall(id, gate.refusal)
    const permission = permissionOf(rules, host, gate, given)
    // From JavaScript it may be anything: whatever is neither `allow` nor `ask` refuses.
    if (permission !== "allow" && permission !== "ask") {
      return refuseDenied(rules, host, tool, given)
    }
    const isDispatched = phase._tag === "Dispatched"
    // A dispatch that an earlier owner lost is not run by another tool, nor by one that can no longer be asked.
    if (isDispatched && !mayTakeOver(tool, phase)) {
      return { effect: Exit.succeed({ _tag: "Lost", call: id }) }
    }
    // A dispatch consumed its approval: it is sent again with its key, without a question.
    const isAsked = permission === "ask" && !isDispatched
    const identity = callIdentityOf(tool, host.call())
    return identity === undefined
      ? startBody(host, gate, args.value, isAsked)
      : startOnce(host, tool, identity, () => startBody(host, gate, args.value, isAsked))
  }

  return {
    start,
    died: (call, cause) => callFinished(call, outcomeOfCause(cause))
  }
}
