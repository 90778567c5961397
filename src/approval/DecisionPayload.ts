/**
 * A decision as people send it, over HTTP and in code alike.
 */
import { Schema } from "effect"
import { Decision } from "./Approval.ts"

/** A reason that a person gives and the journal keeps: 1 to 4,000 characters. */
export const Reason = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4_000))

/** The message to a sender of anything else. */
export const decision_expected =
  'Expected an object whose decision is "approve", "deny" with a reason, "request_revision" with a note, or "modify" with arguments'

/** The runtime stamps who decided: there is no member for it, and unknown members are refused. */
export const DecisionPayload = Schema.Union([
  Schema.Struct({ decision: Schema.Literal("approve"), note: Schema.optionalKey(Reason) }),
  Schema.Struct({ decision: Schema.Literal("deny"), reason: Reason }),
  Schema.Struct({ decision: Schema.Literal("request_revision"), note: Reason }),
  Schema.Struct({
    decision: Schema.Literal("modify"),
    /** The full replacement: these pass the whole gate again. */
    arguments: Schema.Record(Schema.String, Schema.Json),
    note: Schema.optionalKey(Reason)
  })
]).annotate({ identifier: "Decision", message: decision_expected })
export type DecisionPayload = typeof DecisionPayload.Type

/** A decision, or what the HTTP API takes in its place. */
export const AnyDecision = Schema.Union([Decision, DecisionPayload])
export type AnyDecision = typeof AnyDecision.Type

/** The decision that a payload stands for. */
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
