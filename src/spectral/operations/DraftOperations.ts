/**
 * The operations with which operators read drafts of rubrics and system cards in their tenant, and publish or withdraw one without
 * an agent.
 */
import { Schema } from "effect"
import { operation } from "../../operation/Operation.ts"
import { Limit } from "../../operation/Page.ts"
import { Draft, DraftId, DraftKind, DraftReason, DraftStatus } from "../platform/contracts/Draft.ts"
import { Version, RecordId } from "../platform/contracts/Fact.ts"

/** To read drafts, and to publish or withdraw them. */
const right = { operator: "all" } as const

export const list = operation({
  id: "list",
  name: "drafts",
  method: "GET",
  path: "/v1/drafts",
  query: Schema.Struct({
    kind: Schema.optionalKey(DraftKind),
    status: Schema.optionalKey(DraftStatus),
    limit: Schema.optionalKey(Limit),
    /** The page begins after this draft, with older ones. */
    after: Schema.optionalKey(DraftId)
  }),
  success: Schema.Struct({
    items: Schema.Array(Draft),
    /** The `after` of the next page; absent = this is the last. */
    next_after: Schema.optionalKey(DraftId)
  }),
  problems: [404],
  right,
  gives: "items",
  summary: "Drafts of rubrics and system cards, newest first"
})

const params = Schema.Struct({ draft_id: DraftId })

export const get = operation({
  id: "get",
  name: "draft",
  method: "GET",
  path: "/v1/drafts/:draft_id",
  params,
  success: Draft,
  problems: [404],
  right,
  args: ["draft_id"],
  summary: "A draft with all that it says, and what became of it"
})

export const publish = operation({
  id: "publish",
  name: "publishDraft",
  method: "POST",
  path: "/v1/drafts/:draft_id/publish",
  params,
  payload: Schema.Struct({
    /** The rubric or system that the draft changes, and the revision on which it is based, as the operator read them. */
    target_id: RecordId,
    based_on: Version,
    reason: DraftReason
  }),
  success: Draft,
  problems: [404, 409],
  right,
  args: ["draft_id"],
  summary: "Publish a draft, once",
  description:
    "Its rubric or card takes the place of what it is based on, which is how the draft was read: 409 where the draft is of another target or revision, is closed, or where its target has changed since."
})

export const withdraw = operation({
  id: "withdraw",
  name: "withdrawDraft",
  method: "POST",
  path: "/v1/drafts/:draft_id/withdraw",
  params,
  payload: Schema.Struct({ reason: DraftReason }),
  success: Draft,
  problems: [404, 409],
  right,
  args: ["draft_id"],
  summary: "Withdraw a draft that waits: it can be published no more"
})
