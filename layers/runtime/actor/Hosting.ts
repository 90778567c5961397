/**
 * What this process hosts: its agents, their versions and their tools. A run goes on where all that it needs is hosted.
 */
import type { Address } from "../../../src/value/Ids.ts"
import type { Need } from "../../../src/run/Needs.ts"
import { needsOf, versionOf } from "../../../src/run/Needs.ts"
import { agentOfRun } from "../../../src/run/RunState.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { hostedBy } from "../../../services/AgentDirectory.ts"

export type Hosting = ReturnType<typeof make>

const nothing: ReadonlyArray<Need> = []

export const make = (directory: AgentDirectory["Service"]) => {
  const hosted = hostedBy(directory.all)
  const hostedSet = new Set(hosted)

  /** The version that a run needs whose agent has `on_change: "wait"`; none, if it was accepted without one. */
  const pinnedVersion = ({ accepted, stopping }: RunState): ReadonlyArray<Need> => {
    if (stopping !== undefined) return nothing
    const { pins } = accepted
    const name = agentOfRun(accepted)
    return directory.get(name)?.spec.on_change !== "wait" || pins.definition === ""
      ? nothing
      : [versionOf(name, pins)]
  }

  return {
    agents: directory.all.map(({ spec }) => spec.name),
    hosted,
    /** Are the agent and all needs hosted here? */
    has: ({ agent }: Address, needs = nothing): boolean =>
      hostedSet.has(agent) && needs.every((need) => hostedSet.has(need)),
    /** All that the run needs, if this process lacks any of it; otherwise nothing. */
    missingNeeds: (state: RunState): ReadonlyArray<Need> => {
      const needs = [...needsOf(state), ...pinnedVersion(state)]
      return needs.every((need) => hostedSet.has(need)) ? nothing : needs
    }
  }
}
