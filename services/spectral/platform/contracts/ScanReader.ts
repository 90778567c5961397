/**
 * Reads scans with their verdicts and scores. Needs no agent.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../../src/value/Ids.ts"
import type { RecordNotFound } from "../../../../src/spectral/platform/contracts/RecordErrors.ts"
import type { ScanRecord, ScanStatus } from "../../../../src/spectral/platform/contracts/Scan.ts"
import type { StoreError } from "../../../StoreError.ts"
import type { RecordPage } from "./RecordPage.ts"

export interface ScanQuery extends RecordPage {
  readonly status?: ScanStatus | undefined
}

export class ScanReader extends Context.Service<
  ScanReader,
  {
    /** Scans, newest first. */
    scans(tenant: Tenant, query: ScanQuery): Effect.Effect<ReadonlyArray<ScanRecord>, StoreError>
    scan(tenant: Tenant, id: string): Effect.Effect<ScanRecord, RecordNotFound | StoreError>
  }
>()("troupe/services/spectral/platform/contracts/ScanReader") {}
