/**
 * The parts of an `effect/ai` stream as those that a turn is put together from.
 */
import type {
  JSONValue,
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
    case "tool-params-start":
      return {
        type: "tool-input-start",
        id: part.id,
        toolName: part.name,
        providerExecuted: part.providerExecuted
      }
    case "tool-params-delta":
      return { type: "tool-input-delta", id: part.id, delta: part.delta }
    case "tool-result":
      return part.providerExecuted === true && !part.preliminary
        ? {
            type: "tool-result",
            toolCallId: part.id,
            toolName: part.name,
            result: (part.encodedResult ?? {}) as JSONValue & {},
            isError: part.isFailure,
            ...metadataOf(part)
          }
        : undefined
    case "source":
      return part.sourceType === "url"
        ? {
            type: "source",
            sourceType: "url",
            id: part.id,
            url: part.url.href,
            title: part.title
          }
        : {
            type: "source",
            sourceType: "document",
            id: part.id,
            mediaType: part.mediaType,
            title: part.title,
            ...(part.fileName === undefined ? undefined : { filename: part.fileName })
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
