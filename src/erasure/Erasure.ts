/**
 * An erasure of what a person said, was told and decided in one tenant. Its record says that it was done, by whom and how much,
 * but not whom it concerned.
 */
import { Schema } from "effect"
import { RunId, Tenant, Uuid } from "../value/Ids.ts"
import { MemoryName } from "../memory/MemoryRow.ts"

export const ErasureId = Uuid.pipe(Schema.brand("ErasureId"))
export type ErasureId = typeof ErasureId.Type

/** The id of the principal to erase, which is also the name for which texts are searched. */
export const ErasedSubject = MemoryName

const FoundRows = Schema.Struct({ table: Schema.String, rows: Schema.Int })

/** What an erasure of memories removed, and what it found when it searched again. */
export const ErasedMemories = Schema.Struct({
  subject: Schema.String,
  /** The number of removed rows, by tier. */
  erased: Schema.Struct({
    interaction: Schema.Int,
    session: Schema.Int,
    persistent: Schema.Int
  }),
  /**
   * For each table, the number of the tenant's rows in which the subject's text still stands in any column, even within a longer
   * word and however often it was encoded as JSON; counted to 1,000. Of memories, only such longer words are left; other rows
   * belong to the journal and to deliveries.
   */
  scanned: Schema.Array(FoundRows)
}).annotate({ identifier: "ErasedMemories" })
export interface ErasedMemories extends Schema.Schema.Type<typeof ErasedMemories> {}

/** How many rows of each table were removed or overwritten. */
const counts = Schema.Record(Schema.String, Schema.Int)

/** The stored record of an erasure. Times are in ms since 1970. */
export const ErasureRecord = Schema.Struct({
  id: ErasureId,
  tenant: Tenant,
  /** The keyed digest of the subject, or of the id of the conversation. */
  subject: Schema.String,
  /** Absent = of a subject. */
  of: Schema.optionalKey(Schema.Literal("conversation")),
  by: Schema.String,
  /** Who acted for `by`. Absent = it acted itself. */
  via: Schema.optionalKey(Schema.String),
  at: Schema.Int,
  /** Absent = the erasure did not finish and has to be repeated. */
  ended_at: Schema.optionalKey(Schema.Int),
  erased: counts
}).annotate({ identifier: "ErasureRecord" })
export interface ErasureRecord extends Schema.Schema.Type<typeof ErasureRecord> {}

export const ErasureReport = Schema.Struct({
  ...ErasureRecord.fields,
  /**
   * The key of the digests in the marks, in hex. It is stored nowhere else: with it one can prove that a text is the one that
   * was erased, and without it nobody can guess a text. Absent = the digests are random, as in a store that does not outlive the
   * process.
   */
  key: Schema.optionalKey(Schema.String),
  /**
   * Runs of other people that have not ended and name the subject, at most 100. The erasure has to be repeated when they have
   * ended.
   */
  waiting: Schema.Array(RunId),
  /**
   * For each table, in how many of the tenant's rows the subject's name still occurs, in any column and even within a longer
   * word. Counting stops at 1,000.
   */
  found: Schema.Array(FoundRows),
  /** Where bytes of what was erased may still be, outside the rows of the store: for a person, as sentences. */
  remains: Schema.Array(Schema.String)
}).annotate({ identifier: "ErasureReport" })
export interface ErasureReport extends Schema.Schema.Type<typeof ErasureReport> {}

/** Runs in the conversations to erase have not ended. Their processes have texts in memory and would write them again. */
export class SubjectIsActive extends Schema.TaggedError<SubjectIsActive>()("SubjectIsActive", {
  /** The runs that have not ended, at most 100. */
  runs: Schema.Array(RunId)
}) {
  override get message(): string {
    return (
      `${this.runs.length} runs of what is to be erased are not over: ${this.runs.slice(0, 3).join(", ")}. ` +
      "Cancel them, or let them end, and erase again"
    )
  }
}

export const waiting_max = 100
