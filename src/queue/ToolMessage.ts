/**
 * A tool's call and its result as messages of a durable queue: their subjects and consumers, and what a result carries so that
 * its sender learns as much as if the tool had run in its own process. The message shapes are SemStreams'; facts without a field
 * there are in `metadata`.
 */
import { Option, Result, Schema, Struct } from "effect"
import { canonical } from "../value/Canonical.ts"
import type { ModelSpent, Spending } from "../cost/Spending.ts"
import { ModelUse, uses_max } from "../cost/Spending.ts"
import { bounds_carried, bounds_result, readJson } from "../value/BoundedJson.ts"
import { failureOf, ToolErrorClass, toolErrors } from "../error/ToolError.ts"
import type { ToolError } from "../error/ToolError.ts"
import { toolErrorFrom, classifyKind } from "../error/Classify.ts"
import { isObject, defined } from "../value/PlainObject.ts"
import type { Outcome } from "../run/RunEvent.ts"
import type { CallMessage, ResultMessage } from "./CallMessage.ts"
import { approval_required_reason, resultOf } from "./CallMessage.ts"
import { isBeyondBytes } from "../value/CutText.ts"

/** Whether a queue accepts a text as a call's id or a tool's name: printable ASCII, which fits into any subject. */
export const isMessageName = (name: string): boolean => /^[\x21-\x7e]{1,200}$/.test(name)

/** The provider of tools that only send their calls to a queue: a worker of such a tool would send each call to itself. */
export const remote_provider = "queue"

/** Members that do not belong to a call's identity: its approval and its trace. */
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

/** Whether two payloads, as canonical JSON, are the same call. A call that is sent again may have another approval. */
export const isSameCall = (a: string, b: string): boolean =>
  a === b || identityOf(a) === identityOf(b)

/** The largest call that a queue accepts, in UTF-16 units of its JSON. */
export const call_length_max = 1_000_000

/**
 * The greatest size of a preliminary result in a database notification, in bytes. PostgreSQL allows 8,000 in all, and the id
 * needs some of them.
 */
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
      return { error_class, ...defined({ error_reason: reason, retry_after_ms }) }
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

/** The result message for a call's outcome, whether or not its body ran. */
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
    ...defined({ metadata }),
    ...(stop === true ? { stop_loop: true } : undefined)
  }
}

/** The result message for a call that was refused before its body ran. */
export const refusalReply = (call: CallMessage, error: ToolError): ResultMessage =>
  replyOf(call, { _tag: "Failed", error: failureOf(error) })

/** A result as the sender of the call reads it. */
export type Reply =
  | { readonly _tag: "Value"; readonly value: unknown }
  | { readonly _tag: "Failed"; readonly error: ToolError }
  | { readonly _tag: "Unknown" }

/**
 * Reads a result. One from this runtime has metadata; one from another runtime is only a text, and its error has at most a kind.
 */
export const readReply = (result: ResultMessage): Reply => {
  const reply = replyMetadataOf(result)
  if (reply.outcome === "unknown") return { _tag: "Unknown" }
  const { content, error, error_kind } = result
  if (error === undefined || error === "") {
    if (reply.encoding !== "json" || content === undefined)
      return { _tag: "Value", value: content ?? null }
    return {
      _tag: "Value",
      value: Result.getOrElse(readJson(content, bounds_carried), () => content)
    }
  }
  if (reply.error_class === undefined)
    return { _tag: "Failed", error: toolErrorFrom(error_kind, error) }
  const { error_reason: reason, retry_after_ms } = reply
  const fields = { kind: error_kind ?? "unknown", message: error }
  return {
    _tag: "Failed",
    error: new toolErrors[reply.error_class]({ ...fields, ...defined({ reason, retry_after_ms }) })
  }
}

/**
 * Whether the result leaves open what the call did, or what another try would do: a loss, a transient failure, or a refusal
 * because an approval is missing. A call with such a result runs again when it is sent again; any other result is final.
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
