/**
 * Records of calls, kept apart from the journal with a retention of their own. They are for statistics and debugging; the
 * journal alone is authoritative.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { RunId, Tenant } from "../src/value/Ids.ts"
import type { InvalidInput } from "../src/schema/InvalidInput.ts"
import type { CallRecord, EndedAs } from "../src/tool/CallRecord.ts"
import type { StoreError } from "./StoreError.ts"

/** Calls that ended alike, in number. */
export interface CallTiming {
  /** The tool's name as the model called it. */
  readonly tool_name: string
  /** When they ended, in ms since 1970. */
  readonly ended_at: number
  /** How long they took, in ms. */
  readonly took_ms: number
  /** How they ended. */
  readonly ended_as: EndedAs
  /** How many there are. */
  readonly count: number
}

/** A record of each call, which outlives the journal of its run. */
export class CallRecords extends Context.Service<
  CallRecords,
  {
    /** Stores records, at most 1,000 at once; a record whose key exists is ignored. */
    store(records: ReadonlyArray<CallRecord>): Effect.Effect<void, StoreError>
    /**
     * Records of a run, oldest first, starting after the record with the key `after` (absent = all); at most `limit` (up to 500).
     * Fails with InvalidInput if the run has no such record, or none any more.
     */
    ofRun(
      tenant: Tenant,
      run: RunId,
      limit: number,
      after?: string
    ): Effect.Effect<ReadonlyArray<CallRecord>, InvalidInput | StoreError>
    /** Records of a tool's calls, newest first; at most `limit` (up to 500). */
    ofTool(
      tenant: Tenant,
      tool_name: string,
      limit: number
    ): Effect.Effect<ReadonlyArray<CallRecord>, StoreError>
    /** How the newest calls of a tenant went that ended at or after `from` (ms since 1970): at most `limit` (up to 2,000) calls. */
    timings(
      tenant: Tenant,
      from: number,
      limit: number
    ): Effect.Effect<ReadonlyArray<CallTiming>, StoreError>
    /** Deletes records of calls that ended before `before` (ms since 1970). Returns how many. */
    forget(tenant: Tenant, before: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/CallRecords") {}
