/**
 * Records of calls, kept apart from the journal with a retention of their own. Owns no run and proves nothing: what has
 * to be true is in the journal.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { RunId, Tenant } from "../src/Ids.ts"
import type { CallRecord } from "../src/tool/CallRecord.ts"
import type { StoreError } from "./StoreError.ts"

export class CallRecords extends Context.Service<
  CallRecords,
  {
    /** Keeps records, at most 1,000 at once; one whose key is known is left as it is. */
    store(records: ReadonlyArray<CallRecord>): Effect.Effect<void, StoreError>
    /** Of a run, oldest first, those after the record of this key (absent = all); at most `limit` (up to 500). */
    ofRun(
      tenant: Tenant,
      run: RunId,
      limit: number,
      after?: string
    ): Effect.Effect<ReadonlyArray<CallRecord>, StoreError>
    /** Of a tool, newest first; at most `limit` (up to 500). */
    ofTool(
      tenant: Tenant,
      tool_name: string,
      limit: number
    ): Effect.Effect<ReadonlyArray<CallRecord>, StoreError>
    /** Forgets what ended before `before` (ms since 1970); how many that were. */
    forget(tenant: Tenant, before: number): Effect.Effect<number, StoreError>
  }
>()("troupe/services/CallRecords") {}
