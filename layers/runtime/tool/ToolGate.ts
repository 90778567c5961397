/**
 * The part of the gate that is the same for every call of a tool by an agent: the agent's capabilities, the operator's policy
 * and how the body runs. Decided once for each pair from values that never change, so that no call can widen what a later one
 * may do.
 */
import {
  capabilityDenied,
  parseCapability,
  grantFix,
  grantsOf,
  uncoveredCapability
} from "../../../src/capability/Capability.ts"
import type { Capability } from "../../../src/capability/Capability.ts"
import type { RunId } from "../../../src/Ids.ts"
import type { RunAccepted } from "../../../src/run/RunEvent.ts"
import type { ToolPolicyError } from "../../../src/error/ToolError.ts"
import type { JudgedRun, PermissionOf } from "../../../src/permission/CallPermission.ts"
import { permissionByCall } from "../../../src/permission/CallPermission.ts"
import type { Policy, Subject } from "../../../src/permission/Policy.ts"
import { alwaysAsks, permissionFor } from "../../../src/permission/Policy.ts"
import type { Permission } from "../../../src/tool/SideEffects.ts"
import { readOnlyHintOf } from "../../../src/tool/SideEffects.ts"
import { isDispatched } from "../../../src/tool/ToolSpec.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentTool, CallHost, StartBody } from "./CallHost.ts"
import type { ToolBody } from "./ToolBody.ts"

export interface ToolGate {
  readonly tool: AgentTool
  /** The refusal of every call, because the agent lacks a capability that the tool needs. Undefined = it has all. */
  readonly missingCapability: ToolPolicyError | undefined
  /** One for every call, or a function of the arguments as given and of the run, which throws what the tool's own one throws. */
  readonly permission: Permission | PermissionOf
  /** Whether a workspace may authorise its calls in advance. */
  readonly mayBeAuthorized: boolean
  readonly start: StartBody
}

/** The facts of a tool that a policy judges. */
export const policySubjectOf = ({
  decode,
  key,
  permission,
  provider,
  spec
}: AgentTool): Subject => {
  const declared =
    permission === undefined ? spec.permission : permissionByCall(spec.name, permission, decode)
  const properties = spec.input_schema["properties"]
  return {
    name: spec.name,
    key,
    category: spec.category,
    read_only: readOnlyHintOf(spec.side_effects),
    arguments: typeof properties === "object" && properties !== null ? Object.keys(properties) : [],
    ...(spec.rule_arguments === undefined ? undefined : { rule_arguments: spec.rule_arguments }),
    ...(declared === undefined ? undefined : { permission: declared }),
    ...(spec.approval === undefined ? undefined : { approval: spec.approval }),
    ...(provider === undefined ? undefined : { server: provider })
  }
}

/** A run, for functions that judge it. */
export const judgedRun = (run: RunId, accepted: RunAccepted): Omit<JudgedRun, "agent"> => ({
  run,
  tenant: accepted.tenant,
  principal: accepted.by,
  roles: accepted.roles ?? [],
  ...(accepted.context === undefined ? undefined : { context: accepted.context })
})

/** The run of a call, for its permission. */
export const judgedRunOf = ({ accepted, agent, run }: CallHost): JudgedRun => ({
  ...judgedRun(run, accepted),
  agent: agent.spec.name
})

/** A capability that the tool needs and the agent lacks, for which every call is refused. Undefined = it has all. */
const missingCapability = (
  agent: ResolvedAgent,
  tool: AgentTool,
  default_deny: boolean
): Capability | undefined => {
  const { capabilities } = agent.spec
  const grants =
    capabilities === undefined ? null : grantsOf(capabilities.map(parseCapability), default_deny)
  return uncoveredCapability(grants, tool.spec.capabilities)
}

/**
 * The refusal of a call whose conversation was handed over by an agent that lacks a capability of the tool, or that this
 * process does not know. Undefined = each has all.
 */
export const missingOfHandedBy = (
  host: CallHost,
  tool: AgentTool,
  default_deny: boolean,
  agentOf: ((name: string) => ResolvedAgent | undefined) | undefined
): ToolPolicyError | undefined => {
  const { accepted, state } = host
  if (state.handoffs === 0 && accepted.handed_by === undefined) return undefined
  for (const name of state.frames.get(host.call().frame)?.handed_by ?? []) {
    const agent = agentOf?.(name)
    const missing =
      agent === undefined ? tool.spec.capabilities[0] : missingCapability(agent, tool, default_deny)
    if (missing !== undefined) return capabilityDenied(tool.spec.name, missing)
  }
  return undefined
}

/** One warning for each tool that its agent may never use. */
export const capabilityWarnings = (
  agents: ReadonlyArray<ResolvedAgent>,
  policy: Policy
): ReadonlyArray<string> =>
  agents.flatMap((agent) =>
    [...agent.tools.values()].flatMap((tool) => {
      const missing = missingCapability(agent, tool, policy.default_deny)
      if (missing === undefined) return []
      const { message } = capabilityDenied(tool.spec.name, missing)
      const fix = grantFix(missing, policy.default_deny)
      return [`Every call by ${agent.spec.name} is refused: ${message} ${fix}.`]
    })
  )

/**
 * Whether calls of the tool may be authorised in advance: the policy does not always have a person asked, and a journaled
 * dispatch says by what a call ran. A client's call has none.
 */
export const mayBeAuthorized = (policy: Policy, tool: AgentTool): boolean =>
  !alwaysAsks(policy, policySubjectOf(tool)) && isDispatched(tool.spec) && tool.client === undefined

/** Gives the gates of an agent's tools, by the name that the model uses. */
export const makeToolGates = (policy: Policy, body: Pick<ToolBody, "starterOf">) => {
  const known = new WeakMap<ResolvedAgent, ReadonlyMap<string, ToolGate>>()
  const gateOf = (agent: ResolvedAgent, tool: AgentTool): ToolGate => {
    const missing = missingCapability(agent, tool, policy.default_deny)
    const subject = policySubjectOf(tool)
    return {
      tool,
      missingCapability:
        missing === undefined ? undefined : capabilityDenied(tool.spec.name, missing),
      permission: permissionFor(policy, subject),
      mayBeAuthorized: mayBeAuthorized(policy, tool),
      start: body.starterOf(tool)
    }
  }
  const gatesFor = (agent: ResolvedAgent): ReadonlyMap<string, ToolGate> =>
    new Map([...agent.tools].map(([name, tool]) => [name, gateOf(agent, tool)]))
  return (agent: ResolvedAgent): ReadonlyMap<string, ToolGate> => {
    let gates = known.get(agent)
    if (gates === undefined) known.set(agent, (gates = gatesFor(agent)))
    return gates
  }
}
