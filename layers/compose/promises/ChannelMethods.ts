/** The settings of the intake of events. */
import { Effect } from "effect"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { AgentNotFound } from "../../../src/agent/AgentSpec.ts"
import { BindingTarget } from "../../../src/conversation/ChannelBinding.ts"
import type { AgentName } from "../../../src/value/Ids.ts"

interface Events {
  readonly agent: AgentName
  readonly bindings?: ReadonlyArray<BindingTarget>
  readonly retention_ms?: number
}

/** The settings of the event intake, with the agent that they name. Fails if no agent has this name. */
export const intakeOf = Effect.fnUntraced(function* (
  events: Events | undefined,
  agents: ReadonlyArray<AgentSpec>
) {
  if (events === undefined) return undefined
  const agent = agents.find(({ name }) => name === events.agent)
  return agent === undefined
    ? yield* new AgentNotFound({ agent: events.agent, available: agents.map(({ name }) => name) })
    : { ...events, agent }
})
