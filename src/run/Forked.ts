/**
 * From where a run was forked: it is given the turns that the other run's models took before `step`, and goes on from there. Its
 * calls change nothing: they get the results that the other run's calls had, or are refused.
 */
import { Schema } from "effect"
import { CheckedJsonRecord } from "../value/JsonObject.ts"
import { RunId } from "../value/Ids.ts"

/** The place of a turn: its frame, a slash, and its number there from 1, such as `0/3` or `0/2.1/1`. */
export const TurnPlace = Schema.String.check(
  Schema.isMaxLength(200),
  Schema.isPattern(/^[0-9][0-9./]*\/[1-9][0-9]{0,8}$/)
).annotate({ expected: "the place of a turn, such as 0/3" })

export class Forked extends Schema.Opaque<Forked>()(
  // The stores find forks by their first two members.
  Schema.Struct({
    /** Who sent the message of the other run: tools are told that it is this one's too. */
    sender: Schema.String,
    /** The conversation of the other run, or the mark of its erasure. */
    conversation: Schema.String,
    /** The other run. */
    run: RunId,
    /** The first turn that is not given but taken anew. */
    step: TurnPlace,
    /** The message is another one than the other run's. */
    edited: Schema.optionalKey(Schema.Literal(true)),
    /** The model of its turns. Absent = that of each agent. */
    model: Schema.optionalKey(Schema.String),
    /** The policy that judges its calls. Absent = the one in force. */
    policy: Schema.optionalKey(CheckedJsonRecord)
  })
) {}

/** Whose run it is for tools, guards and the policy: of a fork, who sent the message of the run that it was forked from. */
export const senderOf = ({
  by,
  forked
}: {
  readonly by: string
  readonly forked?: Forked | undefined
}): string => forked?.sender ?? by

/** The most that the events of a run may have that is forked or compared with its fork, in UTF-16 units. */
export const forked_units_max = 8_000_000

/** The run cannot be forked, or not so. */
export class NotForkable extends Schema.TaggedError<NotForkable>()("NotForkable", {
  /** The run. */
  run_id: RunId,
  /** Why not, in a sentence. */
  reason: Schema.String
}) {
  override get message(): string {
    return `run ${this.run_id} cannot be forked: ${this.reason}`
  }
}
