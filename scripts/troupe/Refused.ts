/**
 * What the command cannot do, in a sentence for whoever typed it.
 */
import { Schema } from "effect"

export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  message: Schema.String
}) {}
