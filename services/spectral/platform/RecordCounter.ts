/**
 * Counts the records of a workspace by their state. It reads none of their contents.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { RecordCounts } from "../../../src/spectral/platform/RecordTools.ts"
import type { StoreError } from "../../StoreError.ts"

export class RecordCounter extends Context.Service<
  RecordCounter,
  {
    /** The counts: those of one kind at one moment, each kind at its own. All are 0 if the tenant has no records. */
    counts(tenant: Tenant): Effect.Effect<RecordCounts, StoreError>
  }
>()("troupe/services/spectral/platform/RecordCounter") {}
