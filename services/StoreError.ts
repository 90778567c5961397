/**
 * The failure that all stores share.
 */
import { Schema } from "effect"

/**
 * The store did not answer, or a record of it cannot be read. A write was not done, or its acknowledgement was lost: whoever
 * sends it again uses the same key.
 */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  message: Schema.String
}) {}
