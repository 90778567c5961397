/**
 * The operations with which admins erase a subject in their tenant, and list erasures.
 */
import { Schema } from "effect"
import { ErasedSubject, ErasureId, ErasureRecord, ErasureReport } from "../erasure/Erasure.ts"
import { operation } from "./Operation.ts"
import { Limit } from "./Page.ts"

export const list = operation({
  id: "list",
  name: "erasures",
  method: "GET",
  path: "/v1/erasures",
  query: Schema.Struct({
    limit: Schema.optionalKey(Limit),
    /** The page begins after this erasure. */
    after: Schema.optionalKey(ErasureId)
  }),
  success: Schema.Struct({
    items: Schema.Array(ErasureRecord),
    next_after: Schema.optionalKey(ErasureId)
  }),
  right: "erase",
  gives: "items",
  summary: "Erasures of the tenant, newest first",
  description: "By whom, when, and how many rows of each table. Of whom is a digest only."
})

export const erase = operation({
  id: "erase",
  name: "erase",
  method: "POST",
  path: "/v1/erasures",
  payload: Schema.Struct({ subject: ErasedSubject }),
  success: ErasureReport,
  problems: [409],
  right: "erase",
  summary: "Erase a subject",
  description:
    "What the principal said, was told and decided, and what names it, in every store of the tenant. Journals keep digests, whose key is in the answer and nowhere else. 409 while a run of its conversations is not over. `found` says where the name still stands."
})
