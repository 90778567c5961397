/**
 * What is left of loops that ended, by key: `COMPLETE_{loop_id}` holds the record of one as JSON text. Runs of this
 * runtime are found here when they have ended, without anybody putting them in; other keys and other runtimes' loops are
 * put.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

export interface StoredLoop {
  readonly key: string
  /** Undefined where this key could not be read. */
  readonly value: string | undefined
}

export class LoopStore extends Context.Service<
  LoopStore,
  {
    /** Replaces what was there. A key has at most 500 characters, a value at most 4,000,000; more dies. */
    put(tenant: Tenant, key: string, value: string): Effect.Effect<void, StoreError>
    get(tenant: Tenant, key: string): Effect.Effect<string | undefined, StoreError>
    /**
     * The values that name this flow (`workflow_slug`), with a key above `after` (absent = from the start), in the order
     * of keys; at most `limit` (up to 500).
     */
    scan(
      tenant: Tenant,
      flow: string,
      after: string | undefined,
      limit: number
    ): Effect.Effect<ReadonlyArray<StoredLoop>, StoreError>
  }
>()("troupe/services/LoopStore") {}
