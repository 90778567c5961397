/**
 * A tool's call and its result as messages of a durable queue: the subjects they travel under, who consumes them, and
 * what a result has to say so that its sender knows as much as if the tool had run beside it. The shapes are SemStreams';
 * what they have no field for stands in `metadata`.
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
import { errorOf, ofKind } from "../error/Classify.ts"
import type { Outcome } from "../run/RunEvent.ts"
import type { CallMessage, ResultMessage } from "../semstreams/CallMessage.ts"
import { resultOf } from "../semstreams/CallMessage.ts"

/** Every call of one tool, by its registry key or plain name. */
export const executeSubject = (tool: string): string => `tool.execute.${tool}`

/** The one result of one call. */
export const resultSubject = (call_id: string): string => `tool.result.${call_id}`

const suffixed = (name: string, suffix: string | undefined): string =>
  suffix === undefined || suffix === "" ? name : `${name}-${suffix}`

/** Who consumes the calls of one tool (SM-33). */
export const consumerNameForTool = (tool: string, suffix?: string): string =>
  suffixed(`tool-exec-${tool.replaceAll(/[._]/g, "-")}`, suffix)

/** Who consumes a whole subject, which may end in a wildcard. */
export const consumerNameForSubject = (subject: string, suffix?: string): string =>
  suffixed(
    `agentic-tools-${subject.replaceAll(".", "-").replaceAll(">", "all").replaceAll("*", "any")}`,
    suffix
  )

/** The id of a call and the name of a tool, as a queue knows them: printable, so that they fit into any subject. */
export const isMessageName = (name: string): boolean => /^[\x21-\x7e]{1,200}$/.test(name)

/** Marks tools that only send their calls elsewhere: a worker of them would send each call to itself. */
export const remote_provider = "queue"

/** Who let it run, and on what trail: it is the same call without them. */
const circumstances = new Set(["approved_by", "trace_id", "metadata"])

const deedOf = (payload: string): string => {
  const call: unknown = JSON.parse(payload)
  return typeof call === "object" && call !== null && !Array.isArray(call)
    ? canonical(
        Object.fromEntries(Object.entries(call).filter(([name]) => !circumstances.has(name)))
      )
    : payload
}

/** Do two payloads, as canonical JSON, ask for the same thing? A call that is run again may have another approval. */
export const isSameCall = (a: string, b: string): boolean => a === b || deedOf(a) === deedOf(b)

/** The greatest call that a queue takes, in UTF-16 units of its JSON. */
export const call_length_max = 1_000_000

/** What a wakeup of a database carries beside an id. */
const shown_bytes_max = 7_000

/** Is this short enough to be shown before the call's end? */
export const isShowable = (json: string): boolean =>
  json.length * 3 <= shown_bytes_max ||
  (json.length <= shown_bytes_max && new TextEncoder().encode(json).length <= shown_bytes_max)

const Told = Schema.Struct({
  encoding: Schema.optionalKey(Schema.Literal("json")),
  outcome: Schema.optionalKey(Schema.Literal("unknown")),
  error_class: Schema.optionalKey(ToolErrorClass),
  error_reason: Schema.optionalKey(Schema.String),
  retry_after_ms: Schema.optionalKey(Schema.Int)
})
type Told = typeof Told.Type

const readTold = Schema.decodeUnknownOption(Told)

const toldOf = ({ metadata }: ResultMessage): Told =>
  Option.getOrElse(readTold(metadata ?? {}), (): Told => ({}))

const metadataOf = (outcome: Outcome): Told | undefined => {
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

/** What the worker's body spent on models. It has no price until it is told to the call that it was spent for. */
export const spentIn = ({ metadata }: ResultMessage): ReadonlyArray<ModelSpent> =>
  metadata?.["spent"] === undefined ? [] : Option.getOrElse(readSpent(metadata["spent"]), () => [])

const unpriced = (use: ModelUse) => {
  const { cost: _, ...counted } = use
  return counted
}

/** What a worker says of a call that it ran, or did not run. */
export const replyOf = (
  call: CallMessage,
  outcome: Outcome,
  stop?: boolean,
  spent?: Spending
): ResultMessage => {
  const told = metadataOf(outcome)
  const metadata = spent === undefined ? told : { ...told, spent: spent.uses.map(unpriced) }
  return {
    ...resultOf(call, outcome),
    ...(metadata === undefined ? undefined : { metadata }),
    ...(stop === true ? { stop_loop: true } : undefined)
  }
}

/** The same for a failure. */
export const refusalReply = (call: CallMessage, error: ToolError): ResultMessage =>
  replyOf(call, { _tag: "Failed", error: failureOf(error) })

/** What a sender reads in a result. */
export type Reply =
  | { readonly _tag: "Value"; readonly value: unknown }
  | { readonly _tag: "Failed"; readonly error: ToolError }
  | { readonly _tag: "Unknown" }

const classes = { ToolUserError, ToolPolicyError, ToolTransientError, ToolTerminalError }

/** A result of ours says what it is; one of another runtime is a text, and its error has a kind at most (SM-18). */
export const readReply = (result: ResultMessage): Reply => {
  const told = toldOf(result)
  if (told.outcome === "unknown") return { _tag: "Unknown" }
  const { content, error, error_kind } = result
  if (error === undefined || error === "") {
    if (told.encoding !== "json" || content === undefined)
      return { _tag: "Value", value: content ?? null }
    return {
      _tag: "Value",
      value: Result.getOrElse(readJson(content, bounds_result), () => content)
    }
  }
  if (told.error_class === undefined) return { _tag: "Failed", error: errorOf(error_kind, error) }
  const Class = classes[told.error_class]
  return {
    _tag: "Failed",
    error: new Class({
      kind: error_kind ?? "unknown",
      message: error,
      ...(told.error_reason === undefined ? undefined : { reason: told.error_reason }),
      ...(told.retry_after_ms === undefined ? undefined : { retry_after_ms: told.retry_after_ms })
    })
  }
}

/**
 * Does the result leave open what the call did, or would do at another try? Whoever sends such a call again means it to
 * be run again; any other result is the call's for good.
 */
export const isInconclusive = (result: ResultMessage): boolean => {
  const { error_class, outcome } = toldOf(result)
  if (outcome === "unknown") return true
  if (result.error === undefined || result.error === "") return false
  return (error_class ?? ofKind(result.error_kind ?? "unknown").class) === "ToolTransientError"
}
