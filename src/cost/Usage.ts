/**
 * The tokens of a model turn, as its provider counted them, or estimated where it counted none.
 */
import { Schema } from "effect"

export const Usage = Schema.Struct({
  input_tokens: Schema.Int,
  output_tokens: Schema.Int,
  /** Part of the input: read from, and written to, the provider's cache. */
  cached_tokens: Schema.optionalKey(Schema.Int),
  cache_write_tokens: Schema.optionalKey(Schema.Int),
  /** Part of the output. */
  reasoning_tokens: Schema.optionalKey(Schema.Int),
  /** The provider counted nothing: the numbers are a guess, which `tokens_max` takes for the count. They have no price. */
  estimated: Schema.optionalKey(Schema.Literal(true))
})
export interface Usage extends Schema.Schema.Type<typeof Usage> {}
