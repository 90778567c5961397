/**
 * Takes in what the pipeline that evaluates systems has found. For that pipeline, and for no agent.
 */
import { Context, Effect } from "effect"
import type { Tenant } from "../../src/Ids.ts"
import { inputReader } from "../../src/entry/InvalidInput.ts"
import { ChangeRefused } from "../../src/platform/contracts/RecordErrors.ts"
import { PlatformRecords, records_bounds } from "../../src/platform/PlatformRecords.ts"
import type { StoreError } from "../StoreError.ts"

const read = inputReader(PlatformRecords, { bounds: records_bounds })

/** For the answers of this port: records as they have to be, or why they are none. */
export const readRecords = (records: unknown): Effect.Effect<PlatformRecords, ChangeRefused> =>
  Effect.mapError(
    read(records, "records"),
    ({ field, message }) => new ChangeRefused({ message: `${field}: ${message}` })
  )

export class RecordImporter extends Context.Service<
  RecordImporter,
  {
    /**
     * Writes all of it or nothing, and publishes its events with it. Scans, clusters and systems that are known take what was found last.
     * What people decide stays as it is: a known workspace, framework or change set, and the triage of a known cluster; so do
     * known failures and errors, and a card that was published from a draft. A failure of a cluster that is neither known nor among the records refuses all.
     */
    record(
      tenant: Tenant,
      records: PlatformRecords
    ): Effect.Effect<void, ChangeRefused | StoreError>
  }
>()("troupe/services/platform/RecordImporter") {}
