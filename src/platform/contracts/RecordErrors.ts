/**
 * Why a record of a workspace cannot be given or changed.
 */
import { Schema } from "effect"

/** The workspace has none of this id. One of another workspace is not told from one that is not there. */
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
  /** At most 200 UTF-16 units of what was asked for. */
  id: Schema.String
}) {
  override get message(): string {
    return this.kind === "workspace"
      ? "this workspace has no records"
      : `there is no ${this.kind} ${JSON.stringify(this.id)}`
  }
}

/** The record is not in the state that the change needs, or the change is none. Nothing was changed. */
export class ChangeRefused extends Schema.TaggedError<ChangeRefused>()("ChangeRefused", {
  message: Schema.String
}) {}
