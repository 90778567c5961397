/**
 * The error for a memory that was not written. Nothing of the refused text is stored.
 */
import { Schema } from "effect"

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
  canonical: Schema.optionalKey(Schema.String)
}) {}
