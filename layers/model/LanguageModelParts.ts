/**
 * The parts of an `effect/ai` stream as those that a turn is put together from.
 */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata
} from "@ai-sdk/provider"
import type { Response, Tool } from "effect/ai"

export type StreamedPart = Response.StreamPart<
  Record<string, Tool.Any>,
  Response.ToolParametersMode
>

const metadataOf = (part: {
  readonly metadata: unknown
}): { providerMetadata: SharedV4ProviderMetadata } => ({
  providerMetadata: part.metadata as SharedV4ProviderMetadata
})

const finishOf = (reason: Response.FinishReason): LanguageModelV4FinishReason => {
  switch (reason) {
    case "stop":
    case "length":
    case "other":
    case "error":
      return { unified: reason, raw: reason }
    case "tool-calls":
      return { unified: reason, raw: "tool_calls" }
    case "content-filter":
      return { unified: reason, raw: "content_filter" }
    case "pause":
      return { unified: "other", raw: reason }
    case "unknown":
      return { unified: "other", raw: "unstated" }
  }
}

/** A provider that could not read the arguments gives them as the text that they are. */
const inputOf = (params: unknown): string =>
  typeof params === "string" ? params : (JSON.stringify(params) ?? "")

/** Undefined = the part says nothing that a turn keeps. Error parts are the caller's. */
export const partOf = (part: StreamedPart): LanguageModelV4StreamPart | undefined => {
  switch (part.type) {
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
      return { type: part.type, id: part.id, ...metadataOf(part) }
    case "text-delta":
    case "reasoning-delta":
      return { type: part.type, id: part.id, delta: part.delta, ...metadataOf(part) }
    case "tool-call":
      return {
        type: "tool-call",
        toolCallId: part.id,
        toolName: part.name,
        input: inputOf(part.params),
        providerExecuted: part.providerExecuted,
        ...metadataOf(part)
      }
    case "response-metadata":
      return part.modelId === undefined
        ? undefined
        : { type: "response-metadata", modelId: part.modelId }
    case "finish": {
      const { inputTokens, outputTokens } = part.usage
      return {
        type: "finish",
        finishReason: finishOf(part.reason),
        usage: {
          inputTokens: {
            total: inputTokens.total,
            noCache: inputTokens.uncached,
            cacheRead: inputTokens.cacheRead,
            cacheWrite: inputTokens.cacheWrite
          },
          outputTokens: {
            total: outputTokens.total,
            text: outputTokens.text,
            reasoning: outputTokens.reasoning
          }
        }
      }
    }
    default:
      return undefined
  }
}
