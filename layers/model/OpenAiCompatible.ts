/**
 * Any endpoint that speaks the chat-completions wire format, as a `ModelProvider`.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { Redacted } from "effect"
import type { ModelProvider } from "./AiSdkModelGateway.ts"
import type { ModelConfig } from "./ModelConfig.ts"

/** The greatest answer, in bytes as they come off the wire. */
const response_bytes_max = 32_000_000

/** A body that ends with an error once it is larger than an answer may be. */
const bounded = (body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> => {
  let bytes = 0
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength
        if (bytes > response_bytes_max) controller.error(new RangeError("the answer is too large"))
        else controller.enqueue(chunk)
      }
    })
  )
}

/** Follows no redirect, so that prompt and key go where they were sent, and bounds what comes back. */
const guardedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: "manual" })
  if (response.body === null) return response
  return new Response(bounded(response.body), {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers
  })
}

/** The provider that the configuration names. */
export const fromConfig = (config: ModelConfig): ModelProvider => {
  const key = config.api_key === undefined ? undefined : Redacted.value(config.api_key)
  const client = createOpenAICompatible({
    name: "openaiCompatible",
    baseURL: config.base_url,
    includeUsage: true,
    fetch: guardedFetch,
    ...(key === undefined ? undefined : { apiKey: key })
  })
  return {
    model: (id) => client.chatModel(id),
    model_default: config.model,
    // The client's `generateId`: 16 letters and digits.
    made_up_ids: /^[0-9A-Za-z]{16}$/,
    secrets: [...(key === undefined ? [] : [key]), new URL(config.base_url).host],
    keyed: key !== undefined
  }
}
