/**
 * The error that all stores share.
 */
import { Schema } from "effect"

/**
 * The store did not answer, or one of its records cannot be read. A write was either not done, or done without an
 * acknowledgement: a caller that repeats it has to use the same key.
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  message: Schema.String
}) {}
