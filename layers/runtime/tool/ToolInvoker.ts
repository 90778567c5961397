/**
 * The one way any tool runs. The gate checks each call in this order; the first check that fails ends the call:
 *
 * 1. The arguments are JSON (here).
 * 2. The agent has a tool of this name (the map of `ToolGate.ts`). Otherwise the name is a specialist's, and the call
 *    delegates; or the call is refused: the tool's group is not for the sender's roles, there is no such tool, or the tool
 *    is not on the agent's allowlist (`UnresolvedCall.ts`).
 * 3. The tool itself can be called now: not in a side run if it may change something (`SideRunTools.ts`), nor against its own
 *    `refusal`, for example that an MCP server has changed it (here).
 * 4. The arguments fit the input schema (`decode` of the tool), and the context of the run fits what the tool reads of it.
 * 5. The agent has the capabilities that the tool needs, and so has each that handed the conversation over, and each supervisor
 *    (`ToolGate.ts`).
 * 6. The kill switch is off (here), and the policy says `allow` or `ask` (`ToolGate.ts`).
 * 7. A dispatch that an earlier owner lost may be taken over by this tool; otherwise the call is lost (here).
 * 8. No other call of the run, or of the scope of its key, has the same side effect; otherwise the call gets that one's result,
 *    or is refused as a duplicate (`IdempotentCalls.ts`, `HeldKeys.ts`). Neither has an effect, so nobody is asked for it.
 * 9. The tool's own `precondition` lets it through, which may read a store (here).
 * 10. If the policy says `ask`: a person has approved exactly this call, or the workspace has authorised the action in advance;
 *    otherwise the call requests approval (`CallApproval.ts`). A call that was dispatched before needs no further approval.
 *
 * Then the body runs (`ToolBody.ts`): limits of the tool, dispatch, attempts, output schema, size limit. A tool whose
 * results the client of the conversation gives has no body: its call asks for one, and waits (`CallApproval.ts`).
 *
 * What cannot change between two calls is decided once for an agent and a tool (`ToolGate.ts`). Checks 1 to 7 are
 * synchronous, and so are 8 to 10 where they do not apply: such a call costs one fiber and no queue (bench row `step`).
 */
import type { Cause } from "effect"
import { Effect, Exit } from "effect"
import type { ToolError } from "../../../src/error/ToolError.ts"
import type { CallId } from "../../../src/value/Ids.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import { effectivePermission, isDeniedByRole, no_policy } from "../../../src/permission/Policy.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { CallPhase } from "../../../src/run/RunState.ts"
import { sideRunRefusal } from "../../../src/run/SideRun.ts"
import type { Permission } from "../../../src/tool/SideEffects.ts"
import { isPermission } from "../../../src/tool/SideEffects.ts"
import { onLossOf } from "../../../src/tool/ToolSpec.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { KillSwitch } from "../../../services/KillSwitch.ts"
import type { ApprovalServices } from "./CallApproval.ts"
import { approvalFor, clientRequest } from "./CallApproval.ts"
import type { AgentTool, CallHost, StartedWork } from "./CallHost.ts"
import { callCatching } from "../fiber/Catching.ts"
import { callFinished, denied } from "./CallOutcome.ts"
import {
  contextRefusal,
  invalidToolArguments,
  largeArguments,
  malformedArguments,
  permissionDenied,
  refuseCall,
  toolsStopped
} from "./GateRefusal.ts"
import { outcomeOfCause } from "./FailedOutcome.ts"
import { sideEffectIdentity } from "../../../src/tool/Idempotency.ts"
import type { RunHeld } from "./HeldKeys.ts"
import * as IdempotentCalls from "./IdempotentCalls.ts"
import * as ToolBody from "./ToolBody.ts"
import type { ToolGate } from "./ToolGate.ts"
import { isReading } from "./SideRunTools.ts"
import { policySubjectOf } from "../../../src/permission/JudgedTool.ts"
import { judgedRunOf, makeToolGates, missingOfOthers } from "./ToolGate.ts"
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
  /** Runs calls whose keys hold beyond their run. Absent = nothing is known of other runs. */
  readonly held?: RunHeld
  /** Stops every tool of a tenant while it is on. Absent = there is no switch. */
  readonly killSwitch?: KillSwitch["Service"]
  /** Takes the place of checks 8 to 10 and of the body, and may run them. Absent = they are what follows. */
  readonly instead?: Instead
}

/** What becomes of a call that the policy lets through. `asks`: a person would be asked first. */
export type Instead = (
  host: CallHost,
  tool: AgentTool,
  asks: boolean,
  run: Effect.Effect<RunInput | undefined, never, AgentMemory>
) => Effect.Effect<RunInput | undefined, never, AgentMemory>

type Rules = Pick<Services, "killSwitch"> & { readonly policy: Policy }

/**
 * May this tool send a lost dispatch again, or reconcile it? Only the tool that dispatched it may, where the
 * dispatch names one; and if `on_loss` was `ask`, only while the tool still reconciles.
 */
const mayTakeOver = (
  { key, spec }: AgentTool,
  { on_loss, tool }: Extract<CallPhase, { _tag: "Dispatched" }>
): boolean => {
  if (tool !== undefined && tool !== key) return false
  return on_loss === "ask" ? onLossOf(spec) === "ask" : true
}

/** Is the kill switch on for the tenant of the call? */
const areToolsStopped = ({ killSwitch }: Rules, { accepted }: CallHost): boolean =>
  killSwitch?.isOn(accepted.tenant) === true

const permissionOf = (
  rules: Rules,
  host: CallHost,
  { permission }: ToolGate,
  given: unknown
): Permission => {
  if (areToolsStopped(rules, host)) return "deny"
  if (typeof permission !== "function") return permission
  const answer = permission(given, judgedRunOf(host))
  if (isPermission(answer)) host.judged = answer
  return answer
}

/** Do the kill switch and the policy let the tool run with these arguments without approval? Nothing else is checked. */
const permits = (rules: Rules, tool: AgentTool, host: CallHost, args: unknown): boolean =>
  !areToolsStopped(rules, host) &&
  effectivePermission(rules.policy, policySubjectOf(tool), args, false, judgedRunOf(host)) ===
    "allow"

const refuseDenied = (
  rules: Rules,
  host: CallHost,
  tool: AgentTool,
  given: unknown
): StartedWork => {
  const { id } = host.call()
  if (areToolsStopped(rules, host)) return refuseCall(id, toolsStopped())
  const isByRole = isDeniedByRole(rules.policy, policySubjectOf(tool), given, judgedRunOf(host))
  return denied(host, permissionDenied(tool, isByRole))
}

/** A tool without a body here: behind an approval, where one is needed, its client is asked for the result. */
const startClient = (
  services: Services,
  host: CallHost,
  gate: ToolGate,
  { expires_ms }: NonNullable<AgentTool["client"]>,
  needsApproval: boolean
): StartedWork => ({
  effect: Effect.flatMap(
    needsApproval ? approvalFor(services, host, gate) : Effect.undefined,
    (request) =>
      request === undefined
        ? clientRequest(services, host, gate.tool, expires_ms)
        : Effect.succeed(request)
  )
})

/** Why the call is refused before the policy is asked: what its run was told, or a capability that it may not use. */
const refusalOf = (
  { agentOf }: Services,
  { policy }: Rules,
  host: CallHost,
  { missingCapability, tool }: ToolGate
): ToolError | undefined =>
  contextRefusal(tool, host) ??
  missingCapability ??
  missingOfOthers(host, tool, policy.default_deny, agentOf)

/**
 * A tool may refuse the call at this moment: before the request, so that nobody is asked in vain and no use of an
 * authorisation is spent, and again when the decided call comes back. One that was dispatched may have happened: its tool is
 * not asked.
 */
const startIfPermitted = (
  body: ToolBody.ToolBody,
  host: CallHost,
  tool: AgentTool,
  args: unknown,
  start: () => StartedWork
): StartedWork => {
  const { id, phase } = host.call()
  if (phase._tag === "Dispatched") return start()
  return {
    effect: Effect.flatMap(body.refusal({ host, call: id, tool, args }), (refused) =>
      refused === undefined ? body.run(start()) : Effect.succeed(refused)
    )
  }
}

const startsOf = (services: Services, body: ToolBody.ToolBody) => {
  /** Runs the body of a call that a person has approved, or its workspace authorised; otherwise the call ends with a request for approval. */
  const startOrRequest = (host: CallHost, gate: ToolGate, args: unknown) =>
    Effect.flatMap(approvalFor(services, host, gate), (request) =>
      request === undefined
        ? body.run(gate.start(host, host.call().id, args))
        : Effect.succeed(request)
    )
  const startPermitted = (host: CallHost, gate: ToolGate, args: unknown, needsApproval: boolean) =>
    gate.tool.client !== undefined
      ? startClient(services, host, gate, gate.tool.client, needsApproval)
      : needsApproval
        ? { effect: startOrRequest(host, gate, args) }
        : gate.start(host, host.call().id, args)
  const startChecked = (host: CallHost, gate: ToolGate, args: unknown, needsApproval: boolean) =>
    startIfPermitted(body, host, gate.tool, args, () =>
      startPermitted(host, gate, args, needsApproval)
    )
  // A tool without a precondition has no closure made for its call (bench row `step`).
  return (host: CallHost, gate: ToolGate, args: unknown, needsApproval: boolean) =>
    gate.tool.precondition === undefined
      ? startPermitted(host, gate, args, needsApproval)
      : startChecked(host, gate, args, needsApproval)
}

type StartGiven = (
  host: CallHost,
  gate: ToolGate,
  args: unknown,
  needsApproval: boolean
) => StartedWork

/** Starts a call that the policy lets through: checks 8 to 10 and the body, or what takes their place. */
const givenStarts = (services: Services, body: ToolBody.ToolBody): StartGiven => {
  const { agentOf = () => undefined, held, instead } = services
  const startBody = startsOf(services, body)
  const startOnce = IdempotentCalls.make({ body, held, agentOf })
  const startIdentified = (
    host: CallHost,
    gate: ToolGate,
    identity: string,
    args: unknown,
    needsApproval: boolean
  ) => startOnce(host, gate.tool, identity, () => startBody(host, gate, args, needsApproval))
  const start: StartGiven = (host, gate, args, needsApproval) => {
    const identity = sideEffectIdentity(gate.tool.spec, host.call().arguments)
    return identity === undefined
      ? startBody(host, gate, args, needsApproval)
      : startIdentified(host, gate, identity, args, needsApproval)
  }
  if (instead === undefined) return start
  return (host, gate, args, needsApproval) => ({
    effect: instead(
      host,
      gate.tool,
      needsApproval,
      Effect.suspend(() => body.run(start(host, gate, args, needsApproval)))
    )
  })
}

export const make = (services: Services): ToolInvoker => {
  const rules: Rules = { ...services, policy: services.policy ?? no_policy }
  const body = ToolBody.make({
    ...services,
    isStopped: (host) => areToolsStopped(rules, host),
    permits: (tool, host, args) => permits(rules, tool, host, args)
  })
  const gatesOf = makeToolGates(rules.policy, body)
  const startGiven = givenStarts(services, body)

  const begin = (host: CallHost): StartedWork => {
    const { arguments: given, id, phase, proposed } = host.call()
    if (proposed.malformed !== undefined) {
      return refuseCall(id, malformedArguments(proposed.malformed))
    }
    const gate = gatesOf(host.agent).get(proposed.name)
    if (gate === undefined) return startUnresolved(services, host)
    const { tool } = gate
    // Before anything of it runs: no key is held for it, and no precondition is asked.
    if (host.state.beside !== undefined && !isReading(tool)) {
      return refuseCall(id, sideRunRefusal(proposed.name))
    }
    // What the tool itself says at this moment; `gate.missingCapability` is the agent's, and never changes.
    const unavailable = tool.refusal?.()
    if (unavailable !== undefined) return refuseCall(id, unavailable)
    const large = largeArguments(host, tool, given)
    if (large !== undefined) return refuseCall(id, large)
    const args = tool.decode(given)
    if (Exit.isFailure(args)) return refuseCall(id, invalidToolArguments(tool, given, args))
    const refused = refusalOf(services, rules, host, gate)
    if (refused !== undefined) return refuseCall(id, refused)
    const permission = permissionOf(rules, host, gate, given)
    // From JavaScript a policy may hold anything: whatever is neither `allow` nor `ask` refuses.
    if (permission !== "allow" && permission !== "ask") {
      return refuseDenied(rules, host, tool, given)
    }
    const isDispatched = phase._tag === "Dispatched"
    // A dispatch that an earlier owner lost is not run by another tool, nor by one that can no longer reconcile it.
    if (isDispatched && !mayTakeOver(tool, phase)) {
      return { effect: Exit.succeed({ _tag: "Lost", call: id }) }
    }
    // A dispatch consumed its approval: it is sent again with its key, without another approval.
    const needsApproval = permission === "ask" && !isDispatched
    return startGiven(host, gate, args.value, needsApproval)
  }

  return {
    // A permission, a refusal or a schema of the tool may throw: the call fails, and nothing else.
    start: (host) =>
      callCatching(begin, host, undefined, (defect) => ({ effect: Exit.die(defect) })),
    died: (call, cause) => callFinished(call, outcomeOfCause(cause))
  }
}
