/**
 * Stores change sets, their review and their application. The review of a change set is a decision of its own, which the approval
 * of a call cannot replace: this store reads no approvals, and approval desks do not read this store.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../../src/value/Ids.ts"
import type {
  ChangesetRecord,
  ChangesetStatus
} from "../../../../src/spectral/platform/contracts/Changeset.ts"
import type {
  ChangeRefused,
  RecordNotFound
} from "../../../../src/spectral/platform/contracts/RecordErrors.ts"
import type { StoreError } from "../../../StoreError.ts"
import type { RecordPage } from "./RecordPage.ts"

export interface ChangesetQuery extends RecordPage {
  readonly status?: ChangesetStatus | undefined
}

export interface Review {
  readonly decision: "approved" | "rejected"
  /** A note of at most 2,000 UTF-16 units; may be empty. */
  readonly note: string
  readonly by: string
}

export class ChangesetStore extends Context.Service<
  ChangesetStore,
  {
    /** Change sets, newest first. */
    changesets(
      tenant: Tenant,
      query: ChangesetQuery
    ): Effect.Effect<ReadonlyArray<ChangesetRecord>, StoreError>
    changeset(
      tenant: Tenant,
      id: string
    ): Effect.Effect<ChangesetRecord, RecordNotFound | StoreError>
    /**
     * Records the review of a change set, once: one that was reviewed before is refused. Runs in the ambient transaction if there
     * is one.
     */
    review(
      tenant: Tenant,
      id: string,
      review: Review
    ): Effect.Effect<ChangesetRecord, RecordNotFound | ChangeRefused | StoreError>
    /**
     * Applies a change set, once and only after its approval; any other is refused. Runs in the ambient transaction if there is
     * one.
     */
    apply(
      tenant: Tenant,
      id: string,
      by: string
    ): Effect.Effect<ChangesetRecord, RecordNotFound | ChangeRefused | StoreError>
  }
>()("troupe/services/spectral/platform/contracts/ChangesetStore") {}
