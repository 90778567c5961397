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
import type { AgentName, FrameId, RunId } from "../../../src/value/Ids.ts"
import { memoised } from "../../../src/value/Memoised.ts"
import { callOpening, rootFrame } from "../../../src/value/Ids.ts"
import { senderOf } from "../../../src/run/Forked.ts"
import type { RunAccepted } from "../../../src/run/RunEvent.ts"
import { mayBeAuthorized, policySubjectOf } from "../../../src/permission/JudgedTool.ts"
import type { ToolPolicyError } from "../../../src/error/ToolError.ts"
import type { JudgedRun, PermissionOf, Policy } from "../../../src/permission/Policy.ts"
import { permissionFor } from "../../../src/permission/Policy.ts"
import type { Permission } from "../../../src/tool/SideEffects.ts"
import { findCall, findFrame } from "../../../src/run/RunState.ts"
import type { RunState } from "../../../src/run/RunState.ts"
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

/** A run, for functions that judge it. */
export const judgedRun = (run: RunId, accepted: RunAccepted): Omit<JudgedRun, "agent"> => ({
  run,
  tenant: accepted.tenant,
  principal: senderOf(accepted),
  roles: accepted.roles ?? [],
  ...(accepted.context === undefined ? undefined : { context: accepted.context })
})

/** The run of a call, for its permission. */
export const judgedRunOf = ({ accepted, agent, run }: CallHost): JudgedRun => ({
  ...judgedRun(run, accepted),
  agent: agent.spec.name
})

/** A capability that the agent lacks for the tool; undefined = none. As a supervisor it also has what its specialists may use. */
const missingCapability = (
  { spec: { capabilities, specialist_capabilities = [] } }: ResolvedAgent,
  tool: AgentTool,
  default_deny: boolean,
  as: "user" | "supervisor" = "user"
): Capability | undefined => {
  const lent = as === "supervisor" ? specialist_capabilities : []
  const granted = capabilities === undefined && lent.length === 0 ? undefined : (capabilities ?? [])
  const grants =
    granted === undefined
      ? null
      : grantsOf([...granted, ...lent].map(parseCapability), default_deny)
  return uncoveredCapability(grants, tool.spec.capabilities)
}

/** The agents that delegated down to this frame, the nearest first. A call of a queue was checked where it was sent. */
const supervisorsOf = (state: RunState, frame: FrameId): ReadonlyArray<AgentName> => {
  const found: Array<AgentName> = []
  for (let at = frame; at !== rootFrame;) {
    const opening = findCall(state, callOpening(at))
    const above = opening === undefined ? undefined : findFrame(state, opening.frame)
    if (opening === undefined || above === undefined) return found
    found.push(above.agent)
    at = opening.frame
  }
  return found
}

/**
 * The refusal of a call for which another agent answers too: one that handed the conversation over, or a supervisor that
 * delegated, and that lacks a capability of the tool, or that this process does not know. Undefined = each has all.
 */
export const missingOfOthers = (
  host: CallHost,
  tool: AgentTool,
  default_deny: boolean,
  agentOf: ((name: string) => ResolvedAgent | undefined) | undefined
): ToolPolicyError | undefined => {
  const { accepted, state } = host
  const { frame } = host.call()
  const isAlone = frame === rootFrame && state.handoffs === 0 && accepted.handed_by === undefined
  if (isAlone || tool.spec.capabilities.length === 0) return undefined
  const lacks = (as: "user" | "supervisor") => (name: AgentName) => {
    const agent = agentOf?.(name)
    return agent === undefined
      ? tool.spec.capabilities[0]
      : missingCapability(agent, tool, default_deny, as)
  }
  const [missing] = [
    ...(state.frames.get(frame)?.handed_by ?? []).map(lacks("user")),
    ...supervisorsOf(state, frame).map(lacks("supervisor"))
  ].filter((each) => each !== undefined)
  return missing === undefined ? undefined : capabilityDenied(tool.spec.name, missing)
}

/** One warning for each tool that its agent may never use, and for each that it may not use for a supervisor. */
export const capabilityWarnings = (
  agents: ReadonlyArray<ResolvedAgent>,
  { default_deny }: Policy
): ReadonlyArray<string> => {
  const named = new Map(agents.map((agent) => [agent.spec.name, agent]))
  const own = agents.flatMap((agent) =>
    [...agent.tools.values()].flatMap((tool) => {
      const missing = missingCapability(agent, tool, default_deny)
      if (missing === undefined) return []
      const { message } = capabilityDenied(tool.spec.name, missing)
      const fix = grantFix(missing, default_deny)
      return [`Every call by ${agent.spec.name} is refused: ${message} ${fix}.`]
    })
  )
  const delegated = agents.flatMap((agent) => {
    const below = new Set(agent.specialists.values())
    // Iterating a set also visits what is added meanwhile: specialists may have specialists.
    for (const name of below) {
      for (const specialist of named.get(name)?.specialists.values() ?? []) below.add(specialist)
    }
    return [...below].flatMap((name) => {
      const specialist = named.get(name)
      if (specialist === undefined) return []
      return [...specialist.tools.values()].flatMap((tool) => {
        const missing = missingCapability(agent, tool, default_deny, "supervisor")
        return missing === undefined ||
          missingCapability(specialist, tool, default_deny) !== undefined
          ? []
          : [
              `A call of "${tool.spec.name}" by ${name} for ${agent.spec.name} is refused: ${agent.spec.name} has no capability "${missing}". Add it to its capabilities, or to its specialist_capabilities.`
            ]
      })
    })
  })
  return [...own, ...delegated]
}

/** Gives the gates of an agent's tools, by the name that the model uses. */
export const makeToolGates = (policy: Policy, body: Pick<ToolBody, "starterOf">) => {
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
  return memoised(
    (agent: ResolvedAgent): ReadonlyMap<string, ToolGate> =>
      new Map([...agent.tools].map(([name, tool]) => [name, gateOf(agent, tool)]))
  )
}
