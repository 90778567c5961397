/**
 * The form in which people send a decision, over HTTP and in code.
 */
import { Schema } from "effect"
import { CheckedJsonRecord } from "../value/JsonObject.ts"
import { Decision } from "./Approval.ts"

/** A reason that a person gives and the journal keeps: 1 to 4,000 characters. */
export const Reason = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4_000))

/** The error message for a payload of any other shape. */
export const decision_expected =
  'Expected an object whose decision is "approve", "deny" with a reason, "request_revision" with a note, or "modify" with arguments'

/** A decision as it is sent. It has no member for who decided, because the runtime records that itself. */
export const DecisionPayload = Schema.Union([
  Schema.Struct({ decision: Schema.Literal("approve"), note: Schema.optionalKey(Reason) }),
  Schema.Struct({ decision: Schema.Literal("deny"), reason: Reason }),
  Schema.Struct({ decision: Schema.Literal("request_revision"), note: Reason }),
  Schema.Struct({
    decision: Schema.Literal("modify"),
    /** The complete replacement arguments, which are checked again like those of a new call. */
    arguments: CheckedJsonRecord,
    note: Schema.optionalKey(Reason)
  })
]).annotate({ identifier: "Decision", message: decision_expected })
export type DecisionPayload = typeof DecisionPayload.Type

/** The error message for a decision that has neither form. */
export const any_decision_expected = `${decision_expected}; or one of the type Decision, with _tag`

/** A decision in either form: the stored one, or the one that the HTTP API takes. */
export const AnyDecision = Schema.Union([Decision, DecisionPayload]).annotate({
  message: any_decision_expected
})
export type AnyDecision = typeof AnyDecision.Type

/** Converts either form into the stored form of the decision. */
export const decisionOf = (given: AnyDecision): Decision => {
  if ("_tag" in given) return given
  switch (given.decision) {
    case "approve":
      return given.note === undefined ? { _tag: "Approve" } : { _tag: "Approve", note: given.note }
    case "deny":
      return { _tag: "Deny", reason: given.reason }
    case "request_revision":
      return { _tag: "RequestRevision", note: given.note }
    case "modify": {
      const { arguments: args, note } = given
      return note === undefined
        ? { _tag: "Modify", arguments: args }
        : { _tag: "Modify", arguments: args, note }
    }
  }
}
