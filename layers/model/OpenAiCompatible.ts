/**
 * Any endpoint that speaks the chat-completions wire format, as a `ModelProvider`.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { Redacted } from "effect"
import type { ModelProvider } from "./AiSdkModelGateway.ts"
import { chatFetch } from "./ChatWire.ts"
import type { ModelConfig } from "./ModelConfig.ts"

/** The provider that the configuration names. */
export const fromConfig = (config: ModelConfig): ModelProvider => {
  const key = config.api_key === undefined ? undefined : Redacted.value(config.api_key)
  const client = createOpenAICompatible({
    name: "openaiCompatible",
    baseURL: config.base_url,
    includeUsage: true,
    fetch: chatFetch,
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
