/**
 * By what one property of a system's answers is judged.
 */
import { Schema } from "effect"
import { Share, Text } from "./Fact.ts"
import { RecordId } from "./RecordId.ts"

export const Rubric = Schema.Struct({
  rubric_id: RecordId,
  name: Text(200),
  description: Text(2_000),
  /** What an evaluated trace has to fulfil. */
  criteria: Schema.Array(Text(500)).check(Schema.isMinLength(1), Schema.isMaxLength(20)),
  /** A score below it fails the rubric. */
  threshold: Share,
  /** A rubric that is off is not evaluated. */
  enabled: Schema.Boolean
})
export interface Rubric extends Schema.Schema.Type<typeof Rubric> {}

/** Where rubrics come from: a regulation's paragraph, a study, an interview. */
export const RubricSources = Schema.Array(Text(500)).check(Schema.isMaxLength(20))
