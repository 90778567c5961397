/**
 * Drafts of rubrics and system cards, and their publication. A draft changes nothing until it is published.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../src/Ids.ts"
import type { ChangeRefused, RecordNotFound } from "../../../src/platform/contracts/RecordErrors.ts"
import type {
  Draft,
  DraftAuthor,
  DraftKind,
  DraftProposal,
  DraftStatus
} from "../../../src/platform/contracts/Draft.ts"
import type { Closing, Publication } from "../../../src/platform/contracts/Draft.ts"
import type { StoreError } from "../../StoreError.ts"
import type { RecordPage } from "./RecordPage.ts"

export interface DraftQuery extends RecordPage {
  readonly kind?: DraftKind | undefined
  readonly status?: DraftStatus | undefined
}

type Refused = RecordNotFound | ChangeRefused | StoreError

export class DraftStore extends Context.Service<
  DraftStore,
  {
    /**
     * Keeps the whole content that follows from the proposal and from what there is now, under the next number. Once for each
     * call: a repeated one is given what it wrote first. Refused where `drafts_open_max` wait. In the ambient transaction if there
     * is one.
     */
    write(
      tenant: Tenant,
      proposal: DraftProposal,
      author: DraftAuthor
    ): Effect.Effect<Draft, Refused>
    /** Newest first. */
    drafts(tenant: Tenant, query: DraftQuery): Effect.Effect<ReadonlyArray<Draft>, StoreError>
    draft(tenant: Tenant, id: string): Effect.Effect<Draft, RecordNotFound | StoreError>
    /** Once, and not after its publication. In the ambient transaction if there is one. */
    withdraw(tenant: Tenant, id: string, closing: Closing): Effect.Effect<Draft, Refused>
    /**
     * Puts its content in the place of what it is based on, once: a new version of the framework, or a new revision of the card,
     * together with the draft's own state or not at all. Refused where the target is at another revision meanwhile. Gives the
     * revision that it made. In the ambient transaction if there is one.
     */
    publish(tenant: Tenant, id: string, publication: Publication): Effect.Effect<number, Refused>
  }
>()("troupe/services/platform/DraftStore") {}
