/** A part of a message of the model, in the prompt that a provider's client takes. */
import type { LanguageModelV4Message } from "@ai-sdk/provider"

export type AssistantPart = Extract<
  LanguageModelV4Message,
  { role: "assistant" }
>["content"][number]
