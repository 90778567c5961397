/**
 * Why the command cannot do what was asked, in a sentence for the person who typed it.
 */
import { Schema } from "effect"

export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  message: Schema.String
}) {}
