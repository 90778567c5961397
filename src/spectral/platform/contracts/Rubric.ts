/**
 * A rubric, by which one property of a system's answers is judged.
 */
import { Schema } from "effect"
import { Share, Text, RecordId } from "./Fact.ts"

export const Rubric = Schema.Struct({
  rubric_id: RecordId,
  name: Text(200),
  description: Text(2_000),
  /** The criteria that an evaluated trace has to meet. */
  criteria: Schema.Array(Text(500)).check(Schema.isMinLength(1), Schema.isMaxLength(20)),
  /** A trace whose score is below this fails the rubric. */
  threshold: Share,
  /** False = the rubric is not evaluated. */
  enabled: Schema.Boolean
})
export interface Rubric extends Schema.Schema.Type<typeof Rubric> {}

/** Where rubrics come from: a regulation's paragraph, a study, an interview. */
export const RubricSources = Schema.Array(Text(500)).check(Schema.isMaxLength(20))
