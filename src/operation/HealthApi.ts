/** The endpoints by which a supervisor of processes asks after this one. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Problem503 } from "./Problem.ts"

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
