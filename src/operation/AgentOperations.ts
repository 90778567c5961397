/** The operations on the agents of a service. */
import { Schema } from "effect"
import { AgentKindName } from "../agent/AgentSpec.ts"
import { RunLimits } from "../run/RunLimits.ts"
import { UnhostedWork } from "../run/RunItem.ts"
import { AgentName, ConversationId, RunId } from "../value/Ids.ts"
import { operation } from "./Operation.ts"

const Actor = Schema.Struct({
  key: ConversationId,
  state: Schema.Literals(["running", "idle", "parked", "stopped"]),
  run_id: Schema.optionalKey(RunId),
  restarts: Schema.Int
})

const Agent = Schema.Struct({
  name: AgentName,
  kind: Schema.optionalKey(AgentKindName),
  description: Schema.String,
  model: Schema.optionalKey(Schema.String),
  /** The agent's tools: the names that the model uses, and the keys in the registry. */
  tools: Schema.Array(Schema.Struct({ name: Schema.String, key: Schema.String })),
  /** The agents that it may ask. */
  specialists: Schema.Array(AgentName),
  /** The agents to which it may hand the conversation over. */
  handoffs: Schema.Array(AgentName),
  /** What one run of it may use. */
  limits: Schema.toType(RunLimits),
  /** What its definition and its tools are here: the digest of one, a dot, that of the others. */
  version: Schema.String,
  actors: Schema.Array(Actor)
}).annotate({ identifier: "Agent" })

export const list = operation({
  id: "list",
  name: "agents",
  method: "GET",
  path: "/v1/agents",
  success: Schema.Struct({ items: Schema.Array(Agent) }),
  right: "inspect",
  gives: "items",
  summary: "Agents with their actors"
})

export const unhosted = operation({
  id: "unhosted",
  name: "unhosted",
  method: "GET",
  path: "/v1/unhosted",
  success: Schema.Struct({ items: Schema.Array(UnhostedWork) }),
  right: "inspect",
  gives: "items",
  summary: "What waits for an agent that no living process hosts"
})
