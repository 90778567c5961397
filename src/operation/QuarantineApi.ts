/**
 * The endpoints of runs in quarantine, whose journal cannot be folded: to read the stored rows, and to release a run after its
 * repair.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RunId } from "../value/Ids.ts"
import { QuarantinedRun, RawEvent } from "../run/Quarantine.ts"
import { rolesFor } from "../principal/Rights.ts"
import { Authentication, Needs, Validation } from "./Boundary.ts"
import { After, Limit } from "./Page.ts"
import { Problem404, Problem409 } from "./Problem.ts"

const params = { id: RunId }

const list = HttpApiEndpoint.get("list", "/v1/quarantine", {
  query: { limit: Schema.optionalKey(Limit), after: Schema.optionalKey(RunId) },
  success: Schema.Struct({
    items: Schema.Array(QuarantinedRun),
    next_after: Schema.optionalKey(RunId)
  })
})
  .annotate(Needs, rolesFor("repair"))
  .annotateMerge(OpenApi.annotations({ summary: "Runs whose journal does not fold" }))

const events = HttpApiEndpoint.get("events", "/v1/quarantine/:id/events", {
  params,
  query: {
    limit: Schema.optionalKey(Limit),
    /** The page contains rows with a greater `seq` than this. */
    after: Schema.optionalKey(After)
  },
  success: Schema.Struct({
    items: Schema.Array(RawEvent),
    next_after: Schema.optionalKey(After)
  }),
  error: Problem404
})
  .annotate(Needs, rolesFor("repair"))
  .annotateMerge(OpenApi.annotations({ summary: "A run's rows as they are stored" }))

const release = HttpApiEndpoint.post("release", "/v1/quarantine/:id/release", {
  params,
  error: [Problem404, Problem409]
})
  .annotate(Needs, rolesFor("repair"))
  .annotateMerge(OpenApi.annotations({ summary: "Fold a run again, and let it go on if it does" }))

export class QuarantineApi extends HttpApiGroup.make("quarantine")
  .add(list, events, release)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Quarantine" })) {}
