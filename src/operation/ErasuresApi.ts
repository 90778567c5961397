/**
 * The endpoints for admins to erase a subject in their tenant, and to list erasures.
 */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ErasedSubject, ErasureId, ErasureRecord, ErasureReport } from "../erasure/Erasure.ts"
import { Authentication, Needs, RequestBody, Validation } from "./Boundary.ts"
import { Limit } from "./Page.ts"
import { Problem409 } from "./Problem.ts"

const list = HttpApiEndpoint.get("list", "/v1/erasures", {
  query: {
    limit: Schema.optionalKey(Limit),
    /** The page begins after this erasure. */
    after: Schema.optionalKey(ErasureId)
  },
  success: Schema.Struct({
    items: Schema.Array(ErasureRecord),
    next_after: Schema.optionalKey(ErasureId)
  })
})
  .annotate(Needs, ["admin"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "Erasures of the tenant, newest first",
      description: "By whom, when, and how many rows of each table. Of whom is a digest only."
    })
  )

const erase = HttpApiEndpoint.post("erase", "/v1/erasures", {
  payload: Schema.Struct({ subject: ErasedSubject }),
  success: ErasureReport,
  error: Problem409
})
  .annotate(Needs, ["admin"])
  .annotateMerge(
    OpenApi.annotations({
      summary: "Erase a subject",
      description:
        "What the principal said, was told and decided, and what names it, in every store of the tenant. Journals keep digests, whose key is in the answer and nowhere else. 409 while a run of its conversations is not over. `found` says where the name still stands."
    })
  )
  .middleware(RequestBody)

export class ErasuresApi extends HttpApiGroup.make("erasures")
  .add(list, erase)
  .middleware(Validation)
  .middleware(Authentication)
  .annotateMerge(OpenApi.annotations({ title: "Erasures" })) {}
