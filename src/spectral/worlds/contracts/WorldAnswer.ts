/**
 * The answer of a world's agent to a question from another context, and the errors of asking.
 */
import { Schema } from "effect"
import type { Problem } from "../../../operation/Problem.ts"
import { makeProblem } from "../../../operation/Problem.ts"
import { RunId } from "../../../value/Ids.ts"
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
  /** The run that made the answer. Its journal says how the answer came about. */
  run: RunId
})
export interface WorldAnswer extends Schema.Schema.Type<typeof WorldAnswer> {}

/** No world with this id has an agent in this runtime. */
export class WorldUnknown extends Schema.TaggedError<WorldUnknown>()("WorldUnknown", {
  world: Schema.String
}) {
  override get message(): string {
    return `there is no world ${JSON.stringify(this.world)}`
  }

  get problem(): Problem<404> {
    const detail = `There is no world ${JSON.stringify(this.world.slice(0, 200))}.`
    return makeProblem(404, "world-not-found", "World not found", detail)
  }
}

/** The question, the session or the caller was not accepted, so nothing was asked. */
export class WorldRefused extends Schema.TaggedError<WorldRefused>()("WorldRefused", {
  message: Schema.String
}) {}

/**
 * The agent was asked and gave no answer. `unavailable`: it could not be reached or did not answer in time; another try may
 * succeed. `failed`: its run ended without an answer, or asked for an approval.
 */
export class WorldUnanswered extends Schema.TaggedError<WorldUnanswered>()("WorldUnanswered", {
  kind: Schema.Literals(["unavailable", "failed"]),
  message: Schema.String
}) {}

export type WorldAgentError = WorldUnknown | WorldRefused | WorldUnanswered
