/**
 * The Operations Agent's tools for the drafts of the run's tenant. A publication is recorded under the name of the person who
 * approved it, or of the run's principal if nobody was asked.
 */
import { Effect } from "effect"
import { DraftStore } from "../../../services/spectral/platform/contracts/DraftStore.ts"
import type { Draft, DraftProposal } from "../../../src/spectral/platform/contracts/Draft.ts"
import { targetOf } from "../../../src/spectral/platform/contracts/Draft.ts"
import { draftGovernance, DraftTools } from "../../../src/spectral/platform/DraftTools.ts"
import type { CallContext, GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import { callOf, govern } from "../../../src/tool/GovernedTool.ts"
import { cut, orToolError } from "./RecordFailure.ts"

const writtenOf = (draft: Draft) => ({
  draft_id: draft.draft_id,
  target_id: targetOf(draft),
  based_on: draft.based_on,
  status: draft.state.status
})

const closing = ({ approved_by, principal }: CallContext, reason: string) => ({
  by: approved_by ?? principal,
  reason: reason.trim()
})

const handlers = Effect.gen(function* () {
  const store = yield* DraftStore
  const write = (proposal: DraftProposal, { call, principal, run, tenant }: CallContext) =>
    store.write(tenant, proposal, { run, call, principal }).pipe(Effect.map(writtenOf), orToolError)
  return DraftTools.of({
    draft_rubric: (proposal, context) => write({ kind: "rubric", ...proposal }, callOf(context)),
    draft_system_card: (proposal, context) =>
      write({ kind: "system_card", ...proposal }, callOf(context)),
    list_drafts: Effect.fnUntraced(function* ({ limit, ...query }, context) {
      const found = yield* store.drafts(callOf(context).tenant, { ...query, limit: limit + 1 })
      const { items, more } = cut(found, limit)
      const drafts = items.map((draft) => ({
        ...writtenOf(draft),
        kind: draft.kind,
        title: draft.title,
        created_at: draft.created_at
      }))
      return { drafts, more }
    }, orToolError),
    get_draft: ({ draft_id }, context) =>
      orToolError(store.draft(callOf(context).tenant, draft_id)),
    withdraw_draft: Effect.fnUntraced(function* ({ draft_id, reason }, context) {
      const call = callOf(context)
      const given = closing(call, reason)
      yield* store.withdraw(call.tenant, draft_id, given)
      return { draft_id, status: "withdrawn" as const, withdrawn_by: given.by }
    }, orToolError),
    publish_draft: Effect.fnUntraced(function* (
      { based_on, draft_id, reason, target_id },
      context
    ) {
      const call = callOf(context)
      const given = { ...closing(call, reason), based_on, target_id }
      const revision = yield* store.publish(call.tenant, draft_id, given)
      return { draft_id, status: "published" as const, revision, published_by: given.by }
    }, orToolError)
  })
})

/** The tools, for a registry. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool>,
  MisdeclaredTool,
  DraftStore
> = govern(DraftTools, draftGovernance, handlers)
