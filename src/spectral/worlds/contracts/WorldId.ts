/**
 * The names by which other contexts know a world. Its id never changes; its versions do.
 */
import { Schema } from "effect"
import { AgentName } from "../../../value/Ids.ts"

/** The id of a world: lower case, and at most 40 characters because the agent's name contains it. */
export const WorldId = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9-]{0,39}$/, {
    description: "a letter, then at most 39 lower-case letters, digits and hyphens"
  })
).pipe(Schema.brand("WorldId"))
export type WorldId = typeof WorldId.Type

/** A session of an operator with a world's agent, named by the operator's program. */
export const SessionId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._:@~-]{0,99}$/, {
    description: "1 to 100 characters: letters, digits and . _ : @ ~ -"
  })
).pipe(Schema.brand("SessionId"))
export type SessionId = typeof SessionId.Type

/** The name of a world's agent. */
export const worldAgentName = (world: WorldId): AgentName => AgentName.make(`world-${world}`)
