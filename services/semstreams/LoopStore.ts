/**
 * Records of ended loops as JSON text, by the key `COMPLETE_{loop_id}`. Ended runs of this runtime appear without a `put`;
 * records of other runtimes, and other keys, are stored by `put`.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Tenant } from "../../src/value/Ids.ts"
import type { StoreError } from "../StoreError.ts"

export interface StoredLoop {
  readonly key: string
  /** Undefined if the value of this key could not be read. */
  readonly value: string | undefined
}

export class LoopStore extends Context.Service<
  LoopStore,
  {
    /** Replaces the value. A key has at most 500 characters, a value at most 4,000,000; more is a defect. */
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
>()("troupe/services/semstreams/LoopStore") {}
