/**
 * Which of an agent's provider tools a turn is offered: those that its policy allows for whoever sent the message, while no
 * kill switch is on. What is not offered is neither shown to the model nor sent to the provider.
 */
import { Effect } from "effect"
import type { ProviderTool } from "../../../src/agent/ProviderTools.ts"
import {
  providerToolArguments,
  providerToolGroup,
  providerToolId,
  providerToolsOf,
  providerToolSubject,
  rulesBefore
} from "../../../src/agent/ProviderTools.ts"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import type { JudgedRun, PermissionOf, Policy } from "../../../src/permission/Policy.ts"
import { permissionFor } from "../../../src/permission/Policy.ts"
import { MisdeclaredPolicy } from "../../../src/permission/PolicyCheck.ts"
import type { RunAccepted } from "../../../src/run/RunEvent.ts"
import type { Permission } from "../../../src/tool/SideEffects.ts"
import { groupsFor } from "../../../src/tool/ToolGroup.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { KillSwitch } from "../../../services/KillSwitch.ts"
import { judgedRun } from "./ToolGate.ts"

export interface ProviderToolGate {
  /** For one turn of this agent in this run. */
  readonly offered: (
    spec: AgentSpec,
    run: RunId,
    accepted: RunAccepted
  ) => ReadonlyArray<ProviderTool>
}

export const none_offered: ReadonlyArray<ProviderTool> = []

interface Judged {
  readonly tool: ProviderTool
  readonly permission: Permission | PermissionOf
}

const judged = (policy: Policy, tool: ProviderTool): Judged => ({
  tool,
  permission: permissionFor(
    { ...policy, rules: rulesBefore(policy.rules, tool) },
    providerToolSubject(tool)
  )
})

/** Are the groups of the agent, and of the sender's roles, those of the tool? */
const isInGroups = (spec: AgentSpec, tool: ProviderTool, { roles }: RunAccepted): boolean => {
  const group = providerToolGroup(tool)
  if (spec.groups !== undefined && !spec.groups.includes(group)) return false
  const { groups_by_role } = spec
  return groups_by_role === undefined || groupsFor(groups_by_role, roles).has(group)
}

const allows = ({ permission, tool }: Judged, run: JudgedRun): boolean =>
  (typeof permission === "function" ? permission(providerToolArguments(tool), run) : permission) ===
  "allow"

const asksAlways = (agent: string, tool: ProviderTool): MisdeclaredPolicy => {
  const id = providerToolId(tool)
  const fix =
    tool.tool === "mcp"
      ? `servers: { ${JSON.stringify(id)}: "allow" }`
      : `rules: [{ pattern: ${JSON.stringify(tool.tool)}, permission: "allow" }]`
  return new MisdeclaredPolicy({
    field: `agents.${agent}.provider_tools`,
    message: `agent ${agent} declares the provider's tool ${id}, for which the policy asks a person. Nobody can be asked about a use of it, because the provider runs it by itself. Allow it (${fix}), deny it, or leave it out.`
  })
}

/** Fails for a tool about every use of which a person would be asked. One that is denied is logged and never offered. */
export const make = Effect.fnUntraced(function* (
  policy: Policy,
  directory: AgentDirectory["Service"],
  killSwitch: KillSwitch["Service"] | undefined
): Effect.fn.Return<ProviderToolGate, MisdeclaredPolicy> {
  const byAgent = new Map<string, ReadonlyArray<Judged>>()
  for (const { spec } of directory.all) {
    if (spec.provider_tools === undefined) continue
    const tools = providerToolsOf(spec.provider_tools).map((tool) => judged(policy, tool))
    byAgent.set(spec.name, tools)
    for (const { permission, tool } of tools) {
      if (permission === "ask") return yield* asksAlways(spec.name, tool)
      if (permission !== "deny") continue
      yield* Effect.logWarning(
        `agent ${spec.name} declares the provider's tool ${providerToolId(tool)}, which the policy denies: no turn has it`
      )
    }
  }
  return {
    offered: (spec, run, accepted) => {
      const tools = byAgent.get(spec.name)
      if (tools === undefined || killSwitch?.isOn(accepted.tenant) === true) return none_offered
      const as = { ...judgedRun(run, accepted), agent: spec.name }
      return tools
        .filter((each) => isInGroups(spec, each.tool, accepted) && allows(each, as))
        .map(({ tool }) => tool)
    }
  }
})
