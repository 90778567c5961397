/**
 * Why a memory was not written. Nothing is stored of a text that is refused.
 */
import { Schema } from "effect"

/**
 * - `invalid`: the text, a name or a key is empty, too long or unstorable.
 * - `typology`: the tier does not hold that kind.
 * - `canonical`: it is a copy of a canonical text, or holds one.
 * - `from_memory`: it is what the run recalled, and no new fact.
 * - `superseded`: the row to supersede or undo has a successor, is undone, or is not in this memory.
 * - `replay`: a replay changes no memories.
 * - `full`: the tier holds as many rows as it may.
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
  /** A sentence without the text that was refused. */
  message: Schema.String,
  /** The name of the canonical text. */
  canonical: Schema.optionalKey(Schema.String)
}) {}
