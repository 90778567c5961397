/**
 * Differences between providers: what a provider's wire format and client need besides the request, and what their strict modes take.
 */
import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider"
import type { ModelRequest } from "../../../services/ModelGateway.ts"
import type { CallForm } from "./WrittenCalls.ts"
import { formOf } from "./WrittenCalls.ts"
import { WrittenText } from "./WrittenText.ts"

/** Whether a client drops errors and tools that are in its stream, so that it has to be asked for the events as they come. */
export const dropsEvents = ({ provider }: Pick<LanguageModelV4, "provider">): boolean =>
  provider === "amazon-bedrock"

export interface ProviderHabits {
  /** Options for every turn; an agent's settings override them. */
  readonly options?: SharedV4ProviderOptions | undefined
  /** Sent with the turns of an agent that asks for an effort of reasoning, after those above. */
  readonly reasoning_options?: SharedV4ProviderOptions | undefined
  /** True = tools that were called have to be declared, also where the turn may use none. */
  readonly declares_past_tools?: boolean | undefined
  /** Whether the wire format supports files of this media type. Absent = it supports all. */
  readonly takes?: ((media_type: string) => boolean) | undefined
  /**
   * Whether it supports such files in the result of a call. Absent = it supports none: they follow the results in a message of
   * their own.
   */
  readonly takes_in_results?: ((media_type: string) => boolean) | undefined
  /** True = files that the model made are sent back to it with their turn. */
  readonly takes_back_files?: boolean | undefined
  /**
   * Whether uses of a tool that the provider ran are sent back to it with their turn, as calls with results. Absent = none are.
   */
  readonly takes_back_ran?: ((tool: string) => boolean) | undefined
  /** True = what the provider ran is sent back as items of its answer, which our own fetch puts into the request. */
  readonly takes_back_items?: boolean | undefined
  /**
   * True = its models are served as they are, so that `<think>` in a text is reasoning, and a model that is known to write calls
   * into its text is read so. An agent's settings override it.
   */
  readonly serves_as_is?: boolean | undefined
  /** Options that mark a part up to which the provider caches the prompt, for providers that need such a mark. */
  readonly break_point?: SharedV4ProviderOptions | undefined
}

/** Known as servers of open models, by the names of their clients. */
const as_is =
  /^(?:ollama|lm-?studio|v?llm|llama|sglang|groq|deepseek|together|fireworks|deepinfra|cerebras|sambanova|nvidia|nebius|hugging|openrouter|baseten|novita|moonshot|alibaba|qwen|zai|zhipu|minimax)/i

export const servesAsIs = (provider: string): boolean => as_is.test(provider)

/** Reads the texts of the model's turn for what they are not; undefined = they are taken as they come. */
export const readingOf = (
  { serves_as_is = false }: ProviderHabits,
  model: string,
  { settings, tools }: Pick<ModelRequest, "settings" | "tools">
): WrittenText | undefined => {
  const thinks = settings?.think_tags ?? serves_as_is
  const wanted: CallForm | "off" | undefined =
    settings?.calls_in_text ?? (serves_as_is ? formOf(model) : undefined)
  const mayCall = tools.length > 0 && settings?.tool_choice !== "none"
  const form = mayCall && wanted !== "off" ? wanted : undefined
  return thinks || form !== undefined
    ? new WrittenText({ thinks, form, tools: new Map(tools.map((tool) => [tool.name, tool])) })
    : undefined
}

/** For a schema that the strict mode of OpenAI's wire refuses; the answer is checked here. */
export const not_strict: SharedV4ProviderOptions = {
  openai: { strictJsonSchema: false },
  openaiCompatible: { strictJsonSchema: false }
}

/** Is every object of the schema closed, with all its members required, as a strict mode asks? */
export const isStrict = (schema: unknown): boolean => {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (typeof schema !== "object" || schema === null) return true
  const { additionalProperties, properties, required } = schema as Readonly<Record<string, unknown>>
  if (typeof properties === "object" && properties !== null) {
    const names = Array.isArray(required) ? required : []
    const isClosed = additionalProperties === false
    if (!isClosed || Object.keys(properties).some((name) => !names.includes(name))) return false
  }
  return Object.values(schema).every(isStrict)
}
