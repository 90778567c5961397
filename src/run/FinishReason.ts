/**
 * How a model's turn ended, in words that are the same for every provider. After `stop` and `tool_calls` the turn is whole; after
 * any other it is not what its model meant to say.
 */
import { Schema } from "effect"

export const FinishReason = Schema.Literals([
  "stop",
  "tool_calls",
  "length",
  "content_filter",
  "refusal",
  "other"
])
export type FinishReason = typeof FinishReason.Type
