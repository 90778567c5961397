/**
 * Change sets, their review and their application. The review of a change set is a decision of its own, which no approval of a
 * call stands for: nothing here reads approvals, and no desk of approvals reads this.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../src/Ids.ts"
import type { ChangesetRecord, ChangesetStatus } from "../../../src/platform/contracts/Changeset.ts"
import type { ChangeRefused, RecordNotFound } from "../../../src/platform/contracts/RecordErrors.ts"
import type { StoreError } from "../../StoreError.ts"
import type { RecordPage } from "./RecordPage.ts"

export interface ChangesetQuery extends RecordPage {
  readonly status?: ChangesetStatus | undefined
}

export interface Review {
  readonly decision: "approved" | "rejected"
  /** At most 2,000 UTF-16 units; may be empty. */
  readonly note: string
  readonly by: string
}

export class ChangesetStore extends Context.Service<
  ChangesetStore,
  {
    /** Newest first. */
    changesets(
      tenant: Tenant,
      query: ChangesetQuery
    ): Effect.Effect<ReadonlyArray<ChangesetRecord>, StoreError>
    changeset(
      tenant: Tenant,
      id: string
    ): Effect.Effect<ChangesetRecord, RecordNotFound | StoreError>
    /** Once: a change set that was reviewed before is refused. In the ambient transaction if there is one. */
    review(
      tenant: Tenant,
      id: string,
      review: Review
    ): Effect.Effect<ChangesetRecord, RecordNotFound | ChangeRefused | StoreError>
    /** Once, after its approval; any other is refused. In the ambient transaction if there is one. */
    apply(
      tenant: Tenant,
      id: string,
      by: string
    ): Effect.Effect<ChangesetRecord, RecordNotFound | ChangeRefused | StoreError>
  }
>()("troupe/services/platform/contracts/ChangesetStore") {}
