/**
 * The method of a service for events, and their settings.
 */
import { Effect } from "effect"
import { EventIntake } from "../../../services/EventIntake.ts"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import { AgentNotFound } from "../../../src/agent/AgentSpec.ts"
import { BindingTarget } from "../../../src/conversation/ChannelBinding.ts"
import type { IncomingEvent } from "../../../src/delivery/IncomingEvent.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import type { Principal } from "../../../src/principal/Principal.ts"

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

export const publish = (event: unknown, by: Principal) =>
  EventIntake.use((intake) => intake.publish(event as IncomingEvent, by))
