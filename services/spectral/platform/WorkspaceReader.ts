/**
 * Reads a workspace: its onboarding and configuration, its frameworks, its systems and its errors.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { RecordNotFound } from "../../../src/spectral/platform/contracts/RecordErrors.ts"
import type { Framework } from "../../../src/spectral/platform/Framework.ts"
import type {
  ErrorSource,
  Workspace,
  WorkspaceError
} from "../../../src/spectral/platform/Workspace.ts"
import type { SystemCard } from "../../../src/spectral/platform/contracts/SystemCard.ts"
import type { StoreError } from "../../StoreError.ts"
import type { RecordPage } from "./contracts/RecordPage.ts"

export interface ErrorQuery extends RecordPage {
  readonly source?: ErrorSource | undefined
  /** Only errors that came with this scan. */
  readonly scan_id?: string | undefined
}

export class WorkspaceReader extends Context.Service<
  WorkspaceReader,
  {
    workspace(tenant: Tenant): Effect.Effect<Workspace, RecordNotFound | StoreError>
    /** All frameworks, sorted by id; at most 100. */
    frameworks(tenant: Tenant): Effect.Effect<ReadonlyArray<Framework>, StoreError>
    framework(tenant: Tenant, id: string): Effect.Effect<Framework, RecordNotFound | StoreError>
    systemCard(tenant: Tenant, id: string): Effect.Effect<SystemCard, RecordNotFound | StoreError>
    /** Errors of the workspace, newest first. */
    errors(
      tenant: Tenant,
      query: ErrorQuery
    ): Effect.Effect<ReadonlyArray<WorkspaceError>, StoreError>
  }
>()("troupe/services/spectral/platform/WorkspaceReader") {}
