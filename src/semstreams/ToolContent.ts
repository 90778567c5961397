/**
 * Makes the `content` and `metadata` of a result message from a tool's value. Some of SemStreams' own tools have a form of their
 * own; any other tool's value is its content, as JSON text.
 */
import { Option, Schema } from "effect"
import { actionRefusal, LoopDecision } from "./Coordination.ts"
import type { Platform } from "./Triple.ts"
import { loopEntity } from "./Triple.ts"
import type { ToolUserError } from "../error/ToolError.ts"
import type { CallMessage, ResultMessage } from "../queue/CallMessage.ts"

type Content = Pick<ResultMessage, "content" | "metadata">

const readDecision = Schema.decodeUnknownOption(LoopDecision)
const readDiagnosis = Schema.decodeUnknownOption(Schema.Struct({ entity_id: Schema.String }))
const readPage = Schema.decodeUnknownOption(
  Schema.Struct({
    content: Schema.String,
    metadata: Schema.Record(Schema.String, Schema.Json)
  })
)

const decisionMetadata = (
  { action, reason, retry_hint, subtopics }: LoopDecision,
  call: CallMessage,
  platform: Platform
) => ({
  action,
  reason,
  loop_entity_id: loopEntity(platform, call.loop_id ?? ""),
  subtopic_count: subtopics?.length ?? 0,
  has_retry_hint: (retry_hint ?? "") !== ""
})

/** The content and metadata of a call's value. `platform` is part of the id of the loop's entity. */
export const contentOf = (call: CallMessage, value: unknown, platform: Platform): Content => {
  const content = JSON.stringify(value)
  switch (call.name) {
    case "decide":
      return Option.match(readDecision(value), {
        onNone: () => ({ content }),
        onSome: (decision) => ({ content, metadata: decisionMetadata(decision, call, platform) })
      })
    case "emit_diagnosis":
      return Option.match(readDiagnosis(value), {
        onNone: () => ({ content }),
        onSome: ({ entity_id }) => ({ content, metadata: { diagnosis_id: entity_id } })
      })
    case "read_loop_result":
      return Option.getOrElse(readPage(value), () => ({ content }))
    default:
      return { content }
  }
}

const isNames = Schema.is(Schema.Array(Schema.String))

/**
 * The refusal of a `decide` whose action its task does not allow. The dispatcher of a task lists the allowed actions in the
 * call's metadata. Undefined = the action is allowed, or nothing is listed.
 */
export const refusedAction = (call: CallMessage): ToolUserError | undefined => {
  const action = call.arguments?.["action"]
  const allowed = call.metadata?.["decide_action_allowlist"]
  return call.name === "decide" && typeof action === "string" && isNames(allowed)
    ? actionRefusal(action, allowed)
    : undefined
}
