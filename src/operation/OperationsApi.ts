/**
 * The endpoints of the runtime itself: agents and health.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AgentKind } from "../agent/AgentKind.ts"
import { AgentName, ConversationId, RunId } from "../value/Ids.ts"
import { UnhostedWork } from "../run/UnhostedWork.ts"
import { Authentication, Validation } from "./Boundary.ts"
import { Problem503 } from "./Problem.ts"

const Actor = Schema.Struct({
  key: ConversationId,
  state: Schema.Literals(["running", "idle", "parked", "stopped"]),
  run_id: Schema.optionalKey(RunId),
  restarts: Schema.Int
})

const Agent = Schema.Struct({
  name: AgentName,
  kind: Schema.optionalKey(AgentKind),
  description: Schema.String,
  model: Schema.optionalKey(Schema.String),
  /** The agent's tools: the names that the model uses, and the keys in the registry. */
  tools: Schema.Array(Schema.Struct({ name: Schema.String, key: Schema.String })),
  specialists: Schema.Array(AgentName),
  actors: Schema.Array(Actor)
}).annotate({ identifier: "Agent" })

const listAgents = HttpApiEndpoint.get("list", "/v1/agents", {
  success: Schema.Struct({ items: Schema.Array(Agent) })
}).annotateMerge(OpenApi.annotations({ summary: "Agents with their actors" }))

const unhosted = HttpApiEndpoint.get("unhosted", "/v1/unhosted", {
  success: Schema.Struct({ items: Schema.Array(UnhostedWork) })
}).annotateMerge(
  OpenApi.annotations({ summary: "What waits for an agent that no living process hosts" })
)

export class AgentsApi extends HttpApiGroup.make("agents")
  .add(listAgents, unhosted)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Agents" })) {}

const health = HttpApiEndpoint.get("health", "/health", {
  success: Schema.Struct({ status: Schema.Literal("up") })
}).annotateMerge(OpenApi.annotations({ summary: "Does the process live?" }))

const ready = HttpApiEndpoint.get("ready", "/ready", {
  success: Schema.Struct({ status: Schema.Literal("ready") }),
  error: Problem503
}).annotateMerge(OpenApi.annotations({ summary: "Do its stores answer?" }))

/** Health checks. They need no token, because the supervisors of processes that call them have none. */
export class HealthApi extends HttpApiGroup.make("health")
  .add(health, ready)
  .annotateMerge(OpenApi.annotations({ title: "Health" })) {}
