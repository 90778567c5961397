/**
 * Imports the results of the pipeline that evaluates systems. It is for that pipeline and not for agents.
 */
import { Context, Effect } from "effect"
import type { Tenant } from "../../../src/value/Ids.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import { ChangeRefused } from "../../../src/spectral/platform/contracts/RecordErrors.ts"
import { PlatformRecords, records_bounds } from "../../../src/spectral/platform/PlatformRecords.ts"
import type { StoreError } from "../../StoreError.ts"

const read = inputReader(PlatformRecords, { bounds: records_bounds })

/** Decodes records for the implementations of this port. Fails with the reason if they are not valid. */
export const readRecords = (records: unknown): Effect.Effect<PlatformRecords, ChangeRefused> =>
  Effect.mapError(read(records, "records"), ({ message }) => new ChangeRefused({ message }))

export class RecordImporter extends Context.Service<
  RecordImporter,
  {
    /**
     * Writes all records or none, and publishes their events in the same transaction. Known scans, clusters and systems are
     * updated to what was found last. What people decide stays as it is: a known workspace, framework or change set, and the
     * triage of a known cluster. Known failures and errors stay as they are too, and so does a card that was published from a
     * draft. If a failure names a cluster that is neither known nor among the records, everything is refused.
     */
    record(
      tenant: Tenant,
      records: PlatformRecords
    ): Effect.Effect<void, ChangeRefused | StoreError>
  }
>()("troupe/services/spectral/platform/RecordImporter") {}
