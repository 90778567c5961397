/**
 * The endpoints of the runtime itself: agents, dead letters and health.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { DeadLetter } from "../delivery/Outbox.ts"
import { AgentKind } from "../agent/AgentKind.ts"
import { AgentName, ConversationId, MessageId, RunId } from "../value/Ids.ts"
import { UnhostedWork } from "../run/UnhostedWork.ts"
import { rolesFor } from "../principal/Rights.ts"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import { LetterFilters } from "./Filters.ts"
import { Reason } from "./Page.ts"
import { Problem404, Problem409, Problem503 } from "./Problem.ts"

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

const letterParams = { event_id: MessageId }
const resolving = {
  params: letterParams,
  payload: Schema.Struct({ reason: Reason }),
  error: [Problem404, Problem409]
} as const

const listLetters = HttpApiEndpoint.get("list", "/v1/dead-letters", {
  query: LetterFilters,
  success: Schema.Struct({ items: Schema.Array(DeadLetter) })
}).annotateMerge(OpenApi.annotations({ summary: "Dead letters, newest first" }))

const getLetter = HttpApiEndpoint.get("get", "/v1/dead-letters/:event_id", {
  params: letterParams,
  success: DeadLetter,
  error: Problem404
}).annotateMerge(OpenApi.annotations({ summary: "A dead letter with its failures" }))

const replay = HttpApiEndpoint.post("replay", "/v1/dead-letters/:event_id/replay", resolving)
  .annotate(Needs, rolesFor("redeliver"))
  .annotateMerge(OpenApi.annotations({ summary: "Send a dead letter again" }))
  .middleware(RequestBody)

const discard = HttpApiEndpoint.post("discard", "/v1/dead-letters/:event_id/discard", resolving)
  .annotate(Needs, rolesFor("redeliver"))
  .annotateMerge(OpenApi.annotations({ summary: "Give a dead letter up" }))
  .middleware(RequestBody)

export class DeadLettersApi extends HttpApiGroup.make("deadLetters")
  .add(listLetters, getLetter, replay, discard)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Dead letters" })) {}

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
