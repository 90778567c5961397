/**
 * What of the gate is the same for every call of a tool by an agent: the agent's capabilities, the operator's policy and
 * how the body runs. Decided once for each pair, from values that do not change, so that nothing that a call does can
 * widen what the next one may.
 */
import { capabilityDenied, claimOf, grantsOf, missingOf } from "../../src/capability/Capability.ts"
import type { ToolPolicyError } from "../../src/error/ToolError.ts"
import type { PermissionOf, Policy, Subject } from "../../src/permission/Policy.ts"
import { permissionFor } from "../../src/permission/Policy.ts"
import type { Permission } from "../../src/tool/SideEffects.ts"
import { readOnlyHintOf } from "../../src/tool/SideEffects.ts"
import type { ResidentAgent } from "../../services/AgentDirectory.ts"
import type { Governed, StartBody } from "./CallHost.ts"
import type { ToolBody } from "./ToolBody.ts"

export interface Gate {
  readonly tool: Governed
  /** The agent lacks a capability that the tool needs. Absent = it has all of them. */
  readonly refusal: ToolPolicyError | undefined
  /** Of every call, or of each by its arguments as they were given. */
  readonly permission: Permission | PermissionOf
  readonly start: StartBody
}

/** What a policy looks at of a tool. */
export const subjectOf = ({ key, provider, spec }: Governed): Subject => {
  const properties = spec.input_schema["properties"]
  return {
    name: spec.name,
    key,
    category: spec.category,
    read_only: readOnlyHintOf(spec.side_effects),
    arguments: typeof properties === "object" && properties !== null ? Object.keys(properties) : [],
    ...(spec.permission === undefined ? undefined : { permission: spec.permission }),
    ...(spec.approval === undefined ? undefined : { approval: spec.approval }),
    ...(provider === undefined ? undefined : { server: provider })
  }
}

/** The refusal of every call of this tool by this agent, undefined if it has what the tool needs. */
const lacking = (
  agent: ResidentAgent,
  tool: Governed,
  default_deny: boolean
): ToolPolicyError | undefined => {
  const { capabilities } = agent.spec
  const grants =
    capabilities === undefined ? null : grantsOf(capabilities.map(claimOf), default_deny)
  const missing = missingOf(grants, tool.spec.capabilities)
  return missing === undefined ? undefined : capabilityDenied(tool.spec.name, missing)
}

/** What a start says of tools that their agents may never use. */
export const lackingOf = (
  agents: ReadonlyArray<ResidentAgent>,
  policy: Policy
): ReadonlyArray<string> =>
  agents.flatMap((agent) =>
    [...agent.tools.values()].flatMap((tool) => {
      const refusal = lacking(agent, tool, policy.default_deny)
      return refusal === undefined
        ? []
        : [
            `Every call by ${agent.spec.name} is refused: ${refusal.message} Add it to capabilities.`
          ]
    })
  )

/** The gates of an agent's tools, by the name that the model uses. */
export const makeGates = (policy: Policy, body: Pick<ToolBody, "of">) => {
  const known = new WeakMap<ResidentAgent, ReadonlyMap<string, Gate>>()
  const gatesFor = (agent: ResidentAgent): ReadonlyMap<string, Gate> =>
    new Map(
      [...agent.tools].map(([name, tool]) => [
        name,
        {
          tool,
          refusal: lacking(agent, tool, policy.default_deny),
          permission: permissionFor(policy, subjectOf(tool)),
          start: body.of(tool)
        }
      ])
    )
  return (agent: ResidentAgent): ReadonlyMap<string, Gate> => {
    let gates = known.get(agent)
    if (gates === undefined) known.set(agent, (gates = gatesFor(agent)))
    return gates
  }
}
