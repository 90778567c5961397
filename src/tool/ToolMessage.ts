/**
 * A tool's call and its result as messages of a durable queue: their subjects, their consumers, and what a result carries
 * so that its sender learns as much as if the tool had run in its process. The shapes are SemStreams'; what they have no
 * field for is in `metadata`.
 */
import { Option, Result, Schema, Struct } from "effect"
import { canonical } from "../Canonical.ts"
import type { ModelSpent, Spending } from "../cost/Spending.ts"
import { ModelUse, uses_max } from "../cost/Spending.ts"
import { bounds_result, readJson } from "../entry/BoundedJson.ts"
import {
  failureOf,
  ToolErrorClass,
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError,
  ToolUserError
} from "../error/ToolError.ts"
import type { ToolError } from "../error/ToolError.ts"
import { toolErrorFrom, classifyKind } from "../error/Classify.ts"
import { isObject } from "../PlainObject.ts"
import type { Outcome } from "../run/RunEvent.ts"
import type { CallMessage, ResultMessage } from "../semstreams/CallMessage.ts"
import { approval_required_reason } from "../semstreams/Approvals.ts"
import { resultOf } from "../semstreams/CallMessage.ts"
import { isBeyondBytes } from "../Utf8.ts"

/** The id of a call and the name of a tool, as a queue knows them: printable, so that they fit into any subject. */
export const isMessageName = (name: string): boolean => /^[\x21-\x7e]{1,200}$/.test(name)

/** The provider of tools that only send their calls to a queue: a worker of such a tool would send each call to itself. */
export const remote_provider = "queue"

/** Members that do not change which call it is: its approval and its trace. */
const circumstances = new Set(["approved_by", "trace_id", "metadata"])

const identityOf = (payload: string): string => {
  // Either side wrote it as canonical JSON; a text that is none is only the same as itself.
  const call = Result.getOrElse(readJson(payload, bounds_result), () => payload)
  return isObject(call)
    ? canonical(
        Object.fromEntries(Object.entries(call).filter(([name]) => !circumstances.has(name)))
      )
    : payload
}

/** Whether two payloads, as canonical JSON, are the same call. A call that is run again may have another approval. */
export const isSameCall = (a: string, b: string): boolean =>
  a === b || identityOf(a) === identityOf(b)

/** The largest call that a queue takes, in UTF-16 units of its JSON. */
export const call_length_max = 1_000_000

/** The payload of a database notification beside the id, in bytes: PostgreSQL allows 8,000 in all. */
const shown_bytes_max = 7_000

/** Whether a preliminary result is short enough to be shown. */
export const isShowable = (json: string): boolean => !isBeyondBytes(json, shown_bytes_max)

const ReplyMetadata = Schema.Struct({
  encoding: Schema.optionalKey(Schema.Literal("json")),
  outcome: Schema.optionalKey(Schema.Literal("unknown")),
  error_class: Schema.optionalKey(ToolErrorClass),
  error_reason: Schema.optionalKey(Schema.String),
  retry_after_ms: Schema.optionalKey(Schema.Int)
})
type ReplyMetadata = typeof ReplyMetadata.Type

const readReplyMetadata = Schema.decodeUnknownOption(ReplyMetadata)

const replyMetadataOf = ({ metadata }: ResultMessage): ReplyMetadata =>
  Option.getOrElse(readReplyMetadata(metadata ?? {}), (): ReplyMetadata => ({}))

const metadataOf = (outcome: Outcome): ReplyMetadata | undefined => {
  switch (outcome._tag) {
    case "Value":
      return { encoding: "json" }
    case "Unknown":
      return { outcome: "unknown" }
    case "Failed": {
      const { class: error_class, reason, retry_after_ms } = outcome.error
      return {
        error_class,
        ...(reason === undefined ? undefined : { error_reason: reason }),
        ...(retry_after_ms === undefined ? undefined : { retry_after_ms })
      }
    }
    default:
      return undefined
  }
}

const Spent = Schema.Array(ModelUse.mapFields(Struct.omit(["cost"]))).check(
  Schema.isMaxLength(uses_max)
)
const readSpent = Schema.decodeUnknownOption(Spent)

/** What the worker's body spent on models. The runtime of the call prices it. */
export const spentIn = ({ metadata }: ResultMessage): ReadonlyArray<ModelSpent> =>
  metadata?.["spent"] === undefined ? [] : Option.getOrElse(readSpent(metadata["spent"]), () => [])

const unpriced = (use: ModelUse) => {
  const { cost: _, ...counted } = use
  return counted
}

/** The result of a call that a worker ran, or did not run. */
export const replyOf = (
  call: CallMessage,
  outcome: Outcome,
  stop?: boolean,
  spent?: Spending
): ResultMessage => {
  const own = metadataOf(outcome)
  const metadata = spent === undefined ? own : { ...own, spent: spent.uses.map(unpriced) }
  return {
    ...resultOf(call, outcome),
    ...(metadata === undefined ? undefined : { metadata }),
    ...(stop === true ? { stop_loop: true } : undefined)
  }
}

/** The result of a call that failed before its body ran. */
export const refusalReply = (call: CallMessage, error: ToolError): ResultMessage =>
  replyOf(call, { _tag: "Failed", error: failureOf(error) })

/** A result as its sender reads it. */
export type Reply =
  | { readonly _tag: "Value"; readonly value: unknown }
  | { readonly _tag: "Failed"; readonly error: ToolError }
  | { readonly _tag: "Unknown" }

const classes = { ToolUserError, ToolPolicyError, ToolTransientError, ToolTerminalError }

/** A result of this runtime has metadata; one of another runtime is a text, and its error has at most a kind. */
export const readReply = (result: ResultMessage): Reply => {
  const reply = replyMetadataOf(result)
  if (reply.outcome === "unknown") return { _tag: "Unknown" }
  const { content, error, error_kind } = result
  if (error === undefined || error === "") {
    if (reply.encoding !== "json" || content === undefined)
      return { _tag: "Value", value: content ?? null }
    return {
      _tag: "Value",
      value: Result.getOrElse(readJson(content, bounds_result), () => content)
    }
  }
  if (reply.error_class === undefined)
    return { _tag: "Failed", error: toolErrorFrom(error_kind, error) }
  const Class = classes[reply.error_class]
  return {
    _tag: "Failed",
    error: new Class({
      kind: error_kind ?? "unknown",
      message: error,
      ...(reply.error_reason === undefined ? undefined : { reason: reply.error_reason }),
      ...(reply.retry_after_ms === undefined ? undefined : { retry_after_ms: reply.retry_after_ms })
    })
  }
}

/**
 * Whether the result leaves open what the call did, or would do at another try: a loss, a transient failure, or a refusal
 * for want of an approval. A call with such a result is run again when it is sent again; any other result is final.
 */
export const isInconclusive = (result: ResultMessage): boolean => {
  const { error_class, error_reason, outcome } = replyMetadataOf(result)
  if (outcome === "unknown") return true
  if (result.error === undefined || result.error === "") return false
  if (error_reason === approval_required_reason) return true
  return (
    (error_class ?? classifyKind(result.error_kind ?? "unknown").class) === "ToolTransientError"
  )
}
