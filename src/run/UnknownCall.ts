/**
 * A call that was dispatched and whose outcome is unknown, and what an operator says of it: as the runtime keeps it, and as people
 * send it. Its run waits until an operator settles it.
 */
import { Schema } from "effect"
import { AgentName, CallId, ConversationId, RunId } from "../value/Ids.ts"
import { Reason } from "../approval/Approval.ts"

export const UnknownCall = Schema.Struct({
  run_id: RunId,
  call: CallId,
  /** Its tool, as the model called it. Empty where its event is of a release that did not say. */
  tool: Schema.String,
  agent: AgentName,
  conversation: ConversationId,
  /** Since when; ms since 1970. */
  since: Schema.Int
}).annotate({ identifier: "UnknownCall" })
export interface UnknownCall extends Schema.Schema.Type<typeof UnknownCall> {}

/** `json` is the result of the call as a text. */
export const Settlement = Schema.Union([
  Schema.TaggedStruct("Succeeded", { json: Schema.String }),
  Schema.TaggedStruct("Failed", { message: Reason }),
  Schema.TaggedStruct("RunAgain", {})
])
export type Settlement = typeof Settlement.Type

export const settlement_expected =
  'Expected { _tag: "Succeeded", json }, { _tag: "Failed", message } with 1 to 4,000 characters, or { _tag: "RunAgain" }'

/** A settlement as it is sent over HTTP. */
export const SettleOutcome = Schema.Union([
  Schema.Struct({ succeeded: Schema.Json }),
  Schema.Struct({ failed: Reason }),
  Schema.Literal("run_again")
])

/** A settlement in either form. */
export const AnySettlement = Schema.Union([Settlement, SettleOutcome]).annotate({
  message: `${settlement_expected}; or { succeeded }, { failed } or "run_again"`
})
export type AnySettlement = typeof AnySettlement.Type

/** Converts either form into the one that the runtime keeps. */
export const settlementOf = (given: AnySettlement): Settlement => {
  if (given === "run_again") return { _tag: "RunAgain" }
  if ("_tag" in given) return given
  return "failed" in given
    ? { _tag: "Failed", message: given.failed }
    : { _tag: "Succeeded", json: JSON.stringify(given.succeeded) }
}
