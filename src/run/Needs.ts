/**
 * What a process must host to go on with a run, beside the agent that the message was sent to. The run waits until a process
 * hosts all of it.
 */
import type { AgentName } from "../value/Ids.ts"
import type { Pins } from "./RunEvent.ts"
import type { RunState } from "./RunState.ts"
import { frameOf } from "./RunState.ts"

/**
 * One thing that a process hosts or does not, as text: an agent (`scan`); exactly this version of an agent
 * (`scan@<digest of its definition>.<digest of its tools>`); an agent with exactly this tool (`scan/shop.refund@1`).
 */
export type Need = string

export const versionOf = (agent: AgentName, { definition, tools }: Pins): Need =>
  `${agent}@${definition}.${tools}`

/** `key` is the tool's registry key. */
export const toolOf = (agent: AgentName, key: string): Need => `${agent}/${key}`

/** The agent of a need, and the version or the tool that it is about. */
export const needOf = (
  need: Need
): { readonly agent: AgentName; readonly version?: string; readonly tool?: string } => {
  const at = need.search(/[@/]/)
  if (at < 0) return { agent: need as AgentName }
  const agent = need.slice(0, at) as AgentName
  const rest = need.slice(at + 1)
  return need[at] === "@" ? { agent, version: rest } : { agent, tool: rest }
}

/**
 * What the run's journal needs: the agents of its open frames, and the tools of calls that an earlier owner dispatched and
 * that may be sent again or reconciled. A run that is stopping needs nothing.
 */
export const needsOf = (state: RunState): ReadonlyArray<Need> => {
  if (state.ended !== undefined || state.stopping !== undefined) return none
  const own = state.accepted.address.agent
  const needs = new Set<Need>()
  for (const { agent, next } of state.openFrames) {
    if (agent !== own) needs.add(agent)
    if (next !== undefined && next !== own) needs.add(next)
  }
  for (const { frame, phase } of state.open) {
    if (phase._tag !== "Dispatched" || phase.tool === undefined || phase.epoch >= state.epoch)
      continue
    needs.add(toolOf(frameOf(state, frame).agent, phase.tool))
  }
  return needs.size === 0 ? none : [...needs].sort()
}

/** The needs that a waiting run still has after a command. A version stays among them: the state does not hold it. */
export const stillNeeded = (needs: ReadonlyArray<Need>, state: RunState): ReadonlyArray<Need> => {
  if (state.ended !== undefined || state.stopping !== undefined) return none
  const now = needsOf(state)
  return needs.filter((need) => needOf(need).version !== undefined || now.includes(need))
}

const none: ReadonlyArray<Need> = []
