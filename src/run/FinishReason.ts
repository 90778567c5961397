/**
 * How a model's turn ended, in the words of no provider. `stop` and `tool_calls` are good ends; after any other the turn is
 * not what its model meant to say.
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
