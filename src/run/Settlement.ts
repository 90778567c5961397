/**
 * What an operator says of a call whose outcome is unknown: as the runtime keeps it, and as people send it.
 */
import { Schema } from "effect"
import { Reason } from "../approval/DecisionPayload.ts"

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
