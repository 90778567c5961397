/** What is asked for with a fork. */
import { Schema } from "effect"
import { PolicyInput } from "../permission/PolicyInput.ts"
import { TurnPlace } from "../run/Forked.ts"

/** What a fork changes. */
export const ForkOptions = Schema.Struct({
  /**
   * The first turn that is taken anew: its frame, a slash, and its number there from 1, such as `0/3`. The turns before it, in
   * every frame, are given. Absent = `0/1`, the run's first.
   */
  step: Schema.optionalKey(TurnPlace),
  /** Another message, 1 to 1,000,000 bytes, for a fork from the first turn. Absent = the message of the run. */
  message: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1))),
  /** The model of its turns, by the name that an agent would give it; graphs have none. Absent = that of each agent. */
  model: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))),
  /** A policy as options have it, at most 65,536 characters of JSON, that judges its calls. Absent = the one in force. */
  policy: Schema.optionalKey(PolicyInput),
  /** The same fork with the same key is made once. 1 to 200 characters. Absent = each is a new one. */
  idempotency_key: Schema.optionalKey(
    Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
  )
})
export interface ForkOptions extends Schema.Schema.Type<typeof ForkOptions> {}
