/**
 * The agents as one run has them: without the tools that the roles of its sender do not open. The roles are stored with the
 * run, so that what its model is shown and may call stays the same until it ends, in any process.
 */
import type { Roles } from "../../../src/principal/Principal.ts"
import type { GroupsByRole } from "../../../src/tool/ToolGroup.ts"
import { groupOf, groupsFor } from "../../../src/tool/ToolGroup.ts"
import type { AgentDirectory, ResolvedAgent } from "../../../services/AgentDirectory.ts"

const narrowed = (
  agent: ResolvedAgent,
  byRole: GroupsByRole,
  roles: Roles | undefined
): ResolvedAgent => {
  const groups = groupsFor(byRole, roles)
  const others = [...agent.tools].filter(([, { spec }]) => !groups.has(groupOf(spec)))
  const withheld = new Set(others.map(([name]) => name))
  return {
    ...agent,
    withheld,
    tools: new Map([...agent.tools].filter(([name]) => !withheld.has(name))),
    modelTools: agent.modelTools.filter(({ name }) => !withheld.has(name))
  }
}

/** For how many sets of roles agents are kept; with many declared roles there may be any number of sets. */
const sets_max = 1_000

/** The agents for runs whose sender had these roles. */
export type DirectoryFor = (roles: Roles | undefined) => AgentDirectory["Service"]

/**
 * Gives the same directory each time for the same roles, because gates and prompts are cached by agent. Where no agent has
 * groups by role it is the whole directory, for every run.
 */
export const make = (directory: AgentDirectory["Service"]): DirectoryFor => {
  const differing = directory.all.flatMap((agent) => {
    const { groups_by_role, name } = agent.spec
    return groups_by_role === undefined ? [] : [{ agent, groups_by_role, name }]
  })
  if (differing.length === 0) return () => directory
  const known = new Map<string, AgentDirectory["Service"]>()
  return (roles) => {
    const key = roles === undefined ? "" : [...new Set(roles)].sort().join(" ")
    let found = known.get(key)
    if (found === undefined) {
      const agents = new Map(
        differing.map(({ agent, groups_by_role, name }) => [
          name as string,
          narrowed(agent, groups_by_role, roles)
        ])
      )
      found = {
        all: directory.all.map((agent) => agents.get(agent.spec.name) ?? agent),
        get: (name) => agents.get(name) ?? directory.get(name)
      }
      if (known.size === sets_max) known.clear()
      known.set(key, found)
    }
    return found
  }
}
