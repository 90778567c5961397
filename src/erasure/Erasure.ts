/**
 * An erasure: of what a person said, was told and decided, in one tenant. Its record says that it was done, by whom and how much,
 * and not of whom.
 */
import { Schema } from "effect"
import { RunId, Tenant } from "../Ids.ts"
import { MemoryName } from "../memory/MemoryRow.ts"

export const ErasureId = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, {
    description: "a lower-case UUID"
  })
).pipe(Schema.brand("ErasureId"))
export type ErasureId = typeof ErasureId.Type

/** The id of the principal, which is also the name that texts are searched for. */
export const ErasedSubject = MemoryName

const FoundRows = Schema.Struct({ table: Schema.String, rows: Schema.Int })

/** How many rows of each table were removed or written over. */
const counts = Schema.Record(Schema.String, Schema.Int)

/** What is kept of an erasure. Times are in ms since 1970. */
export const ErasureRecord = Schema.Struct({
  id: ErasureId,
  tenant: Tenant,
  /** The keyed digest of the subject. */
  subject: Schema.String,
  by: Schema.String,
  at: Schema.Int,
  /** Absent = it did not come to its end: it is to be done again. */
  ended_at: Schema.optionalKey(Schema.Int),
  erased: counts
}).annotate({ identifier: "ErasureRecord" })
export interface ErasureRecord extends Schema.Schema.Type<typeof ErasureRecord> {}

export const ErasureReport = Schema.Struct({
  ...ErasureRecord.fields,
  /**
   * The key of the digests in the marks, in hex. It is kept nowhere else: with it one can show that a text is the one that was
   * erased, and without it nobody can guess one. Absent = the digests are random, as where the store is gone with the process.
   */
  key: Schema.optionalKey(Schema.String),
  /** Runs of others that are not over and name the subject, at most 100: erase again when they are. */
  waiting: Schema.Array(RunId),
  /**
   * Each table, and in how many rows of the tenant the subject's name still stands, in any column and within a longer word too;
   * at most 1,000 are counted.
   */
  found: Schema.Array(FoundRows)
}).annotate({ identifier: "ErasureReport" })
export interface ErasureReport extends Schema.Schema.Type<typeof ErasureReport> {}

/** Runs of the subject's conversations are not over: their processes have texts in memory and would write them again. */
export class SubjectIsActive extends Schema.TaggedError<SubjectIsActive>()("SubjectIsActive", {
  /** At most 100. */
  runs: Schema.Array(RunId)
}) {
  override get message(): string {
    return (
      `${this.runs.length} runs of the subject's conversations are not over: ${this.runs.slice(0, 3).join(", ")}. ` +
      "Cancel them, or let them end, and erase again"
    )
  }
}

export const waiting_max = 100
