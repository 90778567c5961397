/**
 * Drafts of rubrics and system cards. Whoever asks publishes or withdraws a draft itself: neither an agent nor the approval of a
 * call is involved.
 */
import { Effect } from "effect"
import { DraftStore } from "../../../services/spectral/platform/contracts/DraftStore.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import * as DraftOperations from "../../../src/spectral/operations/DraftOperations.ts"
import type { Draft } from "../../../src/spectral/platform/contracts/Draft.ts"
import { boundedPage } from "../../../src/value/Pages.ts"
import { pageOf, serve } from "../../service/Served.ts"

export const drafts = serve(
  DraftOperations.list,
  Effect.fnUntraced(function* ({ limit: most = limit_default, ...query }, { tenant }) {
    const store = yield* DraftStore
    const page = yield* boundedPage<Draft, StoreError>(most, (before, limit) =>
      store.drafts(tenant, { ...query, limit, after: before?.draft_id ?? query.after })
    )
    return pageOf(page, "draft_id")
  })
)

export const draft = serve(DraftOperations.get, ({ draft_id }, { tenant }) =>
  DraftStore.use((store) => store.draft(tenant, draft_id))
)

export const publishDraft = serve(
  DraftOperations.publish,
  ({ draft_id, ...closing }, { id, tenant }) =>
    DraftStore.use((store) =>
      Effect.andThen(
        store.publish(tenant, draft_id, { ...closing, by: id }),
        store.draft(tenant, draft_id)
      )
    )
)

export const withdrawDraft = serve(
  DraftOperations.withdraw,
  ({ draft_id, reason }, { id, tenant }) =>
    DraftStore.use((store) => store.withdraw(tenant, draft_id, { reason, by: id }))
)
