/**
 * What an imported history answered to a message. The run of that message ends with it, without a model: it is told to later runs as
 * what was said, and is no result of any tool.
 */
import { Schema } from "effect"

export class Imported extends Schema.Opaque<Imported>()(
  Schema.Struct({
    /** Empty = nothing was answered. */
    answer: Schema.String,
    /** The principal that imported the history. */
    by: Schema.String,
    /** SHA-256 of the whole import: the same one again changes nothing. */
    digest: Schema.String
  })
) {}
