/**
 * What a world's agent answers to another context, and why it may not.
 */
import { Schema } from "effect"
import { RunId } from "../../Ids.ts"
import { WorldId } from "./WorldId.ts"

/** The longest question or message, in UTF-16 units. */
const question_units_max = 20_000

export const WorldQuestion = Schema.String.check(
  Schema.isPattern(/\S/, { description: "a text that is not blank" }),
  Schema.isMaxLength(question_units_max)
)

export const WorldAnswer = Schema.Struct({
  world: WorldId,
  text: Schema.String,
  /** Its journal says how the answer came about. */
  run: RunId
})
export interface WorldAnswer extends Schema.Schema.Type<typeof WorldAnswer> {}

/** No world of this id has an agent here. */
export class WorldUnknown extends Schema.TaggedError<WorldUnknown>()("WorldUnknown", {
  world: Schema.String
}) {
  override get message(): string {
    return `there is no world ${JSON.stringify(this.world)}`
  }
}

/** The question, the session or the caller is not what it has to be: nothing was asked. */
export class WorldRefused extends Schema.TaggedError<WorldRefused>()("WorldRefused", {
  message: Schema.String
}) {}

/**
 * The agent was asked and gave no answer. `unavailable`: it could not be reached, or not in time, and may answer another try;
 * `failed`: its run ended without an answer.
 */
export class WorldUnanswered extends Schema.TaggedError<WorldUnanswered>()("WorldUnanswered", {
  kind: Schema.Literals(["unavailable", "failed"]),
  message: Schema.String
}) {}

export type WorldAgentError = WorldUnknown | WorldRefused | WorldUnanswered
