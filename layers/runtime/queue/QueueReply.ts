/**
 * A delivery read as a call, and what the call's sender is answered.
 */
import { Exit, Schema } from "effect"
import { bounds_default, copyWithin } from "../../../src/value/BoundedJson.ts"
import { ToolTerminalError, ToolTransientError } from "../../../src/error/ToolError.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import { approvalRequired, CallMessage } from "../../../src/queue/CallMessage.ts"
import type { ResultMessage } from "../../../src/queue/CallMessage.ts"
import { readReply, refusalReply, replyOf } from "../../../src/queue/ToolMessage.ts"
import type { ToolDelivery } from "../../../services/ToolQueue.ts"

/** What is to become of a delivery. */
export type Executed =
  | {
      readonly _tag: "Answers"
      readonly result: ResultMessage
      /** Why no further delivery can do better: the call is dead, and an operator has to look at it. */
      readonly dead?: string
    }
  /** The call is to be delivered again, after the usual wait. */
  | { readonly _tag: "GivesBack"; readonly why: string }

/** The reason of a call that no worker began before it expired. */
export const expired_reason = "EXPIRED"

const expired = new ToolTransientError({
  kind: "external",
  reason: expired_reason,
  message: "nobody ran it in time, and nothing was done."
})

const unreadable = new ToolTerminalError({
  kind: "internal",
  reason: "UNREADABLE",
  message: "the message is no call of a tool."
})

const declaredUnlike = new ToolTerminalError({
  kind: "external",
  reason: "DECLARED_UNLIKE",
  message:
    "its worker and its caller do not agree on whether it may be repeated: declare side_effects and idempotent alike. Nothing was done."
})

const undelivered = new ToolTerminalError({
  kind: "internal",
  reason: "DELIVERIES_MAX",
  message: "every worker that ran it ended before it did."
})

const decodeCall = Schema.decodeUnknownExit(CallMessage)

/** Undefined = it is no call. The tool is the one that it was routed by: a name in the payload cannot reach another. */
export const callMessageOf = ({ id, payload, tool }: ToolDelivery): CallMessage | undefined => {
  const { depth_max, values_max } = bounds_default
  // A queue may be anybody's: what is judged is what is run.
  const own = copyWithin(payload, depth_max, { values: values_max, units: 0 })
  if (own === undefined) return undefined
  const call = decodeCall(own)
  return Exit.isSuccess(call) && call.value.id === id ? { ...call.value, name: tool } : undefined
}

/** Of a delivery that cannot be read as a call, as much as its answer needs. */
export const unreadCallOf = ({ id, tool }: ToolDelivery): CallMessage => ({ id, name: tool })

const answers = (result: ResultMessage, dead?: string): Executed => ({
  _tag: "Answers",
  result,
  ...(dead === undefined ? undefined : { dead })
})

/** The answer to a call that was run, by what came of it; undefined = it could not be begun. */
export const executedOf = (call: CallMessage, input: RunInput | undefined): Executed => {
  switch (input?._tag) {
    case undefined:
      return { _tag: "GivesBack", why: "it could not be begun" }
    case "Finished": {
      const { outcome, spent, stop } = input.settled
      return answers(replyOf(call, outcome, stop, spent))
    }
    case "Lost":
      return answers(replyOf(call, { _tag: "Unknown" }, false, input.spent))
    default:
      return answers(refusalReply(call, approvalRequired(call.name)))
  }
}

export const unknownAnswer = (call: CallMessage): Executed =>
  answers(replyOf(call, { _tag: "Unknown" }))

export const expiredAnswer = (call: CallMessage): Executed => answers(refusalReply(call, expired))

/** Of a call that its sender may repeat and the worker may not, or the other way round. Another worker may have begun it. */
export const unlikeAnswer = ({ begun_at }: ToolDelivery, call: CallMessage): Executed =>
  begun_at === undefined ? answers(refusalReply(call, declaredUnlike)) : unknownAnswer(call)

export const unreadableAnswer = (delivery: ToolDelivery): Executed =>
  answers(refusalReply(unreadCallOf(delivery), unreadable), unreadable.message)

/** Of a call that was delivered too often; `why` is what operators read. */
export const undeliveredAnswer = (call: CallMessage, why: string): Executed =>
  answers(refusalReply(call, undelivered), why)

export const isUnknown = (result: ResultMessage): boolean => readReply(result)._tag === "Unknown"
