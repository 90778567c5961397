/** The settings of the intake of events. */
import { Effect } from "effect"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { AgentNotFound } from "../../../src/agent/AgentSpec.ts"
import { BindingTarget } from "../../../src/conversation/ChannelBinding.ts"
import type { EventHandlers } from "../../../src/delivery/EventEffect.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { AnyFeature } from "../options/Feature.ts"

interface Events {
  readonly agent: AgentName
  readonly bindings?: ReadonlyArray<BindingTarget>
  readonly retention_ms?: number
  readonly handlers?: EventHandlers
}

/** The settings of the event intake, with the agent that they name. Fails if no agent has this name. */
export const intakeOf = Effect.fnUntraced(function* (
  events: Events | undefined,
  agents: ReadonlyArray<AgentSpec>,
  features: ReadonlyArray<AnyFeature>
) {
  if (events === undefined) return undefined
  const agent = agents.find(({ name }) => name === events.agent)
  if (agent === undefined) {
    const available = agents.map(({ name }) => name)
    return yield* new AgentNotFound({ agent: events.agent, available })
  }
  const handlers: EventHandlers = {
    ...features.reduce<EventHandlers>((all, each) => ({ ...all, ...each.events.handlers }), {}),
    ...events.handlers
  }
  if (Object.keys(handlers).length === 0) {
    return yield* new InvalidInput({
      field: "events.handlers",
      reason: "Expected a handler of some type of event, here or in a feature"
    })
  }
  return { ...events, agent, handlers, topics: features.flatMap((each) => each.events.topics) }
})
