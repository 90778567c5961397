/**
 * The one way any tool runs. For each call: decode, allowlist, resolve, input schema, capability, permission,
 * effects that happen once, and then the body (`ToolBody`): limits, dispatch, attempts, output schema, size cap. What
 * cannot change between two calls is decided once for an agent and a tool (`ToolGate`). Everything up to the body is
 * synchronous, so that a call whose body is ready costs one fiber and no queue.
 */
import { Cause, Effect, Exit, Schema } from "effect"
import type { SecureRandom } from "effect/crypto"
import type { Decision } from "../../../src/approval/Approval.ts"
import { argsSummary } from "../../../src/approval/ArgsSummary.ts"
import { askedOf } from "../../../src/approval/ShownApproval.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { ToolPolicyError, ToolUserError } from "../../../src/error/ToolError.ts"
import type { AgentName, CallId } from "../../../src/Ids.ts"
import { ApprovalId } from "../../../src/Ids.ts"
import type { Policy } from "../../../src/permission/Policy.ts"
import { effectivePermission, isDeniedByRole, no_policy } from "../../../src/permission/Policy.ts"
import { rolesText } from "../../../src/Principal.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { CallPhase } from "../../../src/run/RunState.ts"
import { notAllowed } from "../../../src/tool/Allowlist.ts"
import { strayMembers, suggestNames } from "../../../src/tool/Nearest.ts"
import { refusalText } from "../../../src/tool/ToolCodec.ts"
import { onLossOf } from "../../../src/tool/ToolSpec.ts"
import { groupDenied } from "../../../src/tool/ToolGroup.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { KillSwitch } from "../../../services/KillSwitch.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import type { Proposal } from "./CallDigests.ts"
import { approvalDigest, proposalDigest, shownDigest, toolDigest } from "./CallDigests.ts"
import type { CallHost, AgentTool, StartedWork } from "./CallHost.ts"
import { callFinished } from "./CallOutcome.ts"
import { failedOutcome, outcomeOfCause } from "./Failures.ts"
import { callIdentityOf } from "./IdempotencyIndex.ts"
import { make as makeOnce } from "./IdempotentCalls.ts"
import type { Services as BodyServices } from "./ToolBody.ts"
import { make as makeBody } from "./ToolBody.ts"
import type { ToolGate } from "./ToolGate.ts"
import { makeToolGates, policySubjectOf } from "./ToolGate.ts"

export interface ToolInvoker {
  readonly start: (host: CallHost) => StartedWork
  /** What a call becomes whose fiber failed: a defect of the tool, or of the gate. */
  readonly died: (call: CallId, cause: Cause.Cause<never>) => RunInput
}

export interface Services extends BodyServices {
  readonly registry: ToolRegistry["Service"]
  readonly random: SecureRandom.SecureRandom["Service"]
  readonly policy_version: string
  /** Absent = categories decide. */
  readonly policy?: Policy
  /** Absent = there is no switch. */
  readonly killed?: KillSwitch["Service"]
  /** The agents of other frames. Absent = only the call's own agent is known. */
  readonly agentOf?: (name: string) => ResolvedAgent | undefined
}

const refuse = (call: CallId, error: ToolError): StartedWork => ({
  effect: Exit.succeed(callFinished(call, failedOutcome(error)))
})

const issueText = (exit: Exit.Exit<unknown, unknown>): string =>
  refusalText(Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined)

/** The two decisions that let a call run. */
const approving = ({ _tag }: Decision): boolean => _tag === "Approve" || _tag === "Modify"

/** May the tool that is here now send again, or be asked for, what was dispatched? */
const isHeir = (
  { key, spec }: AgentTool,
  { on_loss, tool = key }: Extract<CallPhase, { _tag: "Dispatched" }>
): boolean => tool === key && (on_loss !== "ask" || onLossOf(spec) === "ask")

const Delegation = Schema.decodeUnknownExit(
  Schema.Struct({ task: Schema.String.check(Schema.isMinLength(1)) }),
  { onExcessProperty: "error" }
)

export const make = (services: Services): ToolInvoker => {
  const { clock, digest, random } = services
  const policy = services.policy ?? no_policy
  const permits = (tool: AgentTool, { accepted }: CallHost, args: unknown): boolean =>
    services.killed?.isOn(accepted.tenant) !== true &&
    effectivePermission(policy, policySubjectOf(tool), args, false, accepted.roles) === "allow"
  const body = makeBody({ ...services, permits })
  const gateOf = makeToolGates(policy, body)
  const once = makeOnce({ body, agentOf: services.agentOf ?? (() => undefined) })

  /**
   * Asks a person, unless one has answered for exactly this. The question ends the piece: whatever is decided, the call
   * passes the gate again from decode, in this process or another.
   */
  const asked = Effect.fnUntraced(function* (
    host: CallHost,
    { start, tool }: ToolGate,
    args: unknown
  ): Effect.fn.Return<RunInput | undefined, never, AgentMemory> {
    const call = host.call()
    const proposal: Proposal = {
      tenant: host.accepted.tenant,
      tool: tool.key,
      arguments: call.arguments,
      policy_version: services.policy_version
    }
    const wanted = yield* approvalDigest(digest, proposal, host.run, call.id)
    const tool_digest = yield* toolDigest(digest, tool.spec)
    const { phase } = call
    const isSame = phase._tag === "Decided" && phase.tool_digest === tool_digest
    const isYes = isSame && approving(phase.decision)
    if (isYes && phase.digest === wanted) {
      return yield* body.run(start(host, call.id, args))
    }
    const approval = ApprovalId.make(yield* random.uuidV4())
    const { spec } = tool
    const request = {
      call: call.id,
      approval,
      digest: wanted,
      proposal: yield* proposalDigest(digest, proposal),
      tool_key: tool.key,
      tool_digest,
      arguments: call.arguments as never,
      policy_version: services.policy_version,
      approvers: spec.approvers,
      payload: {
        tool_name: spec.name,
        agent_name: host.agent.spec.name,
        args_summary: argsSummary(call.arguments),
        effect_description: spec.effect_description,
        correlation_id: approval
      },
      ...(spec.approval_expires_ms === undefined
        ? undefined
        : { expires_at: clock.currentTimeMillisUnsafe() + spec.approval_expires_ms })
    }
    const shown_digest = yield* shownDigest(
      digest,
      askedOf(host.run, host.accepted.tenant, request)
    )
    return { _tag: "Asks", request: { ...request, shown_digest } }
  })

  const denied = ({ accepted }: CallHost, tool: AgentTool, given: unknown): ToolPolicyError => {
    if (services.killed?.isOn(accepted.tenant) === true) {
      const message = "an operator has stopped every tool."
      return new ToolPolicyError({ kind: "permission", reason: "KILL_SWITCH", message })
    }
    const whom = isDeniedByRole(policy, policySubjectOf(tool), given)
      ? ` for whoever sent the message (${rolesText(accepted.roles)})`
      : ""
    const message = `"${tool.spec.name}" is not permitted${whom}.`
    return new ToolPolicyError({ kind: "permission", reason: "PERMISSION_DENIED", message })
  }

  const unresolved = (host: CallHost, call: CallId, name: string): StartedWork => {
    const specialist = host.agent.specialists.get(name)
    if (specialist !== undefined) return delegate(host, call, specialist)
    const group = host.agent.withheld?.get(name)
    if (group !== undefined) return refuse(call, groupDenied(name, group, host.accepted.roles))
    return services.registry.get(name) === undefined
      ? refuse(
          call,
          new ToolUserError({
            kind: "not_found",
            reason: "UNKNOWN_TOOL",
            message: `there is no tool "${name.slice(0, 64)}".${suggestNames(name, [...host.agent.tools.keys(), ...host.agent.specialists.keys()])}`
          })
        )
      : refuse(call, notAllowed(name))
  }

  const delegate = (host: CallHost, call: CallId, agent: AgentName): StartedWork => {
    const given = host.call().arguments
    const takes = services.agentOf?.(agent)?.takes
    const args =
      takes === undefined
        ? Delegation(given)
        : Exit.map(takes(given), () => ({ task: JSON.stringify(given) }))
    return Exit.isFailure(args)
      ? refuse(
          call,
          new ToolUserError({
            kind: "invalid_args",
            reason: "INPUT_SCHEMA",
            message: issueText(args)
          })
        )
      : { effect: Exit.succeed({ _tag: "Delegates", call, agent, input: args.value.task }) }
  }

  const begin = (
    host: CallHost,
    call: CallId,
    gate: ToolGate,
    args: unknown,
    isAsked: boolean
  ): StartedWork => (isAsked ? { effect: asked(host, gate, args) } : gate.start(host, call, args))

  const start = (host: CallHost): StartedWork => {
    const { id, phase, proposed, arguments: given } = host.call()
    if (proposed.malformed !== undefined) {
      return refuse(
        id,
        new ToolUserError({
          kind: "invalid_args",
          reason: "MALFORMED_JSON",
          message: `the arguments were not JSON: ${proposed.malformed.slice(0, 200)}`
        })
      )
    }
    const gate = gateOf(host.agent).get(proposed.name)
    if (gate === undefined) return unresolved(host, id, proposed.name)
    const { tool } = gate
    const refusal = tool.refusal?.()
    if (refusal !== undefined) return refuse(id, refusal)
    const args = tool.decode(given)
    if (Exit.isFailure(args)) {
      return refuse(
        id,
        new ToolUserError({
          kind: "invalid_args",
          reason: "INPUT_SCHEMA",
          message: `${issueText(args)}${strayMembers(given, tool.spec.input_schema)}`
        })
      )
    }
    if (gate.refusal !== undefined) return refuse(id, gate.refusal)
    const permission =
      services.killed?.isOn(host.accepted.tenant) === true
        ? "deny"
        : typeof gate.permission === "function"
          ? gate.permission(given, host.accepted.roles)
          : gate.permission
    // Whatever does not say that it may run, or that a person is asked, refuses.
    if (permission !== "allow" && permission !== "ask") {
      return refuse(id, denied(host, tool, given))
    }
    // A dispatch that an older owner lost consumed its approval: it is sent again with its key, nobody is asked.
    const isAsked = permission === "ask" && phase._tag !== "Dispatched"
    if (phase._tag === "Dispatched" && !isHeir(tool, phase)) {
      // What was lost may not be run by another tool, nor without asking one that cannot be asked any more.
      return { effect: Exit.succeed({ _tag: "Lost", call: id }) }
    }
    if (tool.spec.idempotency_key !== null) {
      const identity = callIdentityOf(tool, host.call())!
      return once(host, tool, identity, () => begin(host, id, gate, args.value, isAsked))
    }
    return begin(host, id, gate, args.value, isAsked)
  }

  return {
    start,
    died: (call, cause) => callFinished(call, outcomeOfCause(cause))
  }
}
