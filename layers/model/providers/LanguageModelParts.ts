/**
 * Translates the parts of an `effect/ai` stream into the parts of the AI SDK, which a turn is assembled from.
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

/** The arguments as text. Those that the provider could not parse as JSON are a text already. */
const inputOf = (params: unknown): string =>
  typeof params === "string" ? params : (JSON.stringify(params) ?? "")

/** A result of a provider's tool; undefined for a tool that this process runs. */
const resultOf = (
  part: Extract<StreamedPart, { readonly type: "tool-result" }>
): LanguageModelV4StreamPart | undefined =>
  part.providerExecuted === true && !part.preliminary
    ? {
        type: "tool-result",
        toolCallId: part.id,
        toolName: part.name,
        result: (part.encodedResult ?? {}) as JSONValue & {},
        isError: part.isFailure,
        ...metadataOf(part)
      }
    : undefined

const sourceOf = (
  part: Extract<StreamedPart, { readonly type: "source" }>
): LanguageModelV4StreamPart => {
  const { id, title } = part
  if (part.sourceType === "url") {
    return { type: "source", sourceType: "url", id, url: part.url.href, title }
  }
  return {
    type: "source",
    sourceType: "document",
    id,
    mediaType: part.mediaType,
    title,
    ...(part.fileName === undefined ? undefined : { filename: part.fileName })
  }
}

const finishPartOf = ({
  reason,
  usage
}: Extract<StreamedPart, { readonly type: "finish" }>): LanguageModelV4StreamPart => {
  const { inputTokens, outputTokens } = usage
  return {
    type: "finish",
    finishReason: finishOf(reason),
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

/** Translates one part; undefined if a turn keeps nothing of it. The caller handles error parts. */
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
      return resultOf(part)
    case "source":
      return sourceOf(part)
    case "file":
      return {
        type: "file",
        mediaType: part.mediaType,
        data: { type: "data", data: part.data },
        ...metadataOf(part)
      }
    case "response-metadata":
      return part.modelId === undefined
        ? undefined
        : { type: "response-metadata", modelId: part.modelId }
    case "finish":
      return finishPartOf(part)
    default:
      return undefined
  }
}
