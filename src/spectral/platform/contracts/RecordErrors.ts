/**
 * The errors of reads and changes of a workspace's records.
 */
import { Schema } from "effect"
import type { Problem } from "../../../operation/Problem.ts"
import { makeProblem } from "../../../operation/Problem.ts"

/** The workspace has no record with this id. The error is the same if another workspace has one. */
export class RecordNotFound extends Schema.TaggedError<RecordNotFound>()("RecordNotFound", {
  kind: Schema.Literals([
    "workspace",
    "scan",
    "change set",
    "failure cluster",
    "framework",
    "system",
    "world",
    "draft"
  ]),
  /** The first 200 UTF-16 units of the requested id, at most. */
  id: Schema.String
}) {
  override get message(): string {
    return this.kind === "workspace"
      ? "this workspace has no records"
      : `there is no ${this.kind} ${JSON.stringify(this.id)}`
  }

  get problem(): Problem<404> {
    const detail = `There is no ${this.kind} ${JSON.stringify(this.id.slice(0, 200))}.`
    return makeProblem(404, "record-not-found", "Record not found", detail)
  }
}

/** The record is not in the state that the change needs, or the change is empty or invalid. Nothing was changed. */
export class ChangeRefused extends Schema.TaggedError<ChangeRefused>()("ChangeRefused", {
  message: Schema.String
}) {
  get problem(): Problem<409> {
    const detail = `${this.message}. Nothing was changed.`
    return makeProblem(409, "change-refused", "The change cannot be made", detail)
  }
}
