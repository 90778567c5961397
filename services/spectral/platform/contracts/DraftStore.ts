/**
 * Stores drafts of rubrics and system cards, and publishes them. A draft changes nothing until it is published.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../../src/value/Ids.ts"
import type {
  ChangeRefused,
  RecordNotFound
} from "../../../../src/spectral/platform/contracts/RecordErrors.ts"
import type {
  Draft,
  DraftAuthor,
  DraftKind,
  DraftProposal,
  DraftStatus
} from "../../../../src/spectral/platform/contracts/Draft.ts"
import type { Closing, Publication } from "../../../../src/spectral/platform/contracts/Draft.ts"
import type { StoreError } from "../../../StoreError.ts"
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
     * Stores a draft under the next number: the whole content that results from applying the proposal to the current content. A
     * call writes only one draft; if it is repeated, it gets the draft that it wrote first. Refused if `drafts_open_max` drafts
     * are open. Runs in the ambient transaction if there is one.
     */
    write(
      tenant: Tenant,
      proposal: DraftProposal,
      author: DraftAuthor
    ): Effect.Effect<Draft, Refused>
    /** Drafts, newest first. */
    drafts(tenant: Tenant, query: DraftQuery): Effect.Effect<ReadonlyArray<Draft>, StoreError>
    draft(tenant: Tenant, id: string): Effect.Effect<Draft, RecordNotFound | StoreError>
    /** Withdraws a draft, once and not after its publication. Runs in the ambient transaction if there is one. */
    withdraw(tenant: Tenant, id: string, closing: Closing): Effect.Effect<Draft, Refused>
    /**
     * Publishes a draft, once: its content replaces the content that it is based on, as a new version of the framework or a new
     * revision of the card, together with the draft's own state or not at all. Refused if the target has another revision
     * meanwhile. Returns the revision that it made. Runs in the ambient transaction if there is one.
     */
    publish(tenant: Tenant, id: string, publication: Publication): Effect.Effect<number, Refused>
  }
>()("troupe/services/spectral/platform/contracts/DraftStore") {}
