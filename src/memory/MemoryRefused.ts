/**
 * The error for a memory that was not written. Nothing of the refused text is stored.
 */
import { Schema } from "effect"
import type { MemoryRow } from "./MemoryRow.ts"
import { isCurrent, MemoryId } from "./MemoryRow.ts"

/**
 * Why a memory was refused.
 *
 * - `invalid`: the text, a name or a key is empty, too long or cannot be stored.
 *
 * - `typology`: the tier does not accept that kind.
 *
 * - `canonical`: the text copies or contains a canonical text.
 *
 * - `from_memory`: the text is what the run recalled, and not a new fact.
 *
 * - `superseded`: the row to supersede or undo has a successor, is already undone, or is not in this memory.
 *
 * - `replay`: a replay may not change memories.
 *
 * - `full`: the tier already has as many rows as it may have.
 */
export const RefusalReason = Schema.Literals([
  "invalid",
  "typology",
  "canonical",
  "from_memory",
  "superseded",
  "replay",
  "full"
])
export type RefusalReason = typeof RefusalReason.Type

export class MemoryRefused extends Schema.TaggedError<MemoryRefused>()("MemoryRefused", {
  reason: RefusalReason,
  /** A sentence that does not contain the refused text. */
  message: Schema.String,
  /** The name of the canonical text that was copied. Absent for other reasons. */
  canonical: Schema.optionalKey(Schema.String),
  /** The successor of the row. Absent = the row is not in this memory, or another reason. */
  superseded_by: Schema.optionalKey(MemoryId)
}) {}

export const noSuchMemory = (): MemoryRefused =>
  new MemoryRefused({ reason: "superseded", message: "there is no such memory" })

/** Why the row cannot be superseded; undefined if it can. A row that was undone is no longer there. */
export const supersedingFault = (
  row: Pick<MemoryRow, "superseded_by" | "undone_by"> | undefined
): MemoryRefused | undefined => {
  if (row !== undefined && isCurrent(row)) return undefined
  const superseded_by = row?.superseded_by
  if (superseded_by === undefined) return noSuchMemory()
  const message = `the memory has been superseded by ${superseded_by}`
  return new MemoryRefused({ reason: "superseded", message, superseded_by })
}
