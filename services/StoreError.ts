/**
 * The errors that stores share.
 */
import { Schema } from "effect"

/**
 * The store did not answer, or one of its records cannot be read. A write was either not done, or done without an
 * acknowledgement: a caller that repeats it has to use the same key.
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  /** What the store did not do. Safe to show an operator: it has no address and no password. */
  message: Schema.String
}) {}

/** The journal did not answer, or refused for a reason of its own. `lost`: the append may have been written nevertheless. */
export class JournalError extends Schema.TaggedError<JournalError>()("JournalError", {
  /** What the journal did not do. Safe to show an operator: it has no address and no password. */
  message: Schema.String,
  /** True = the append may have been written nevertheless. */
  lost: Schema.Boolean
}) {}
