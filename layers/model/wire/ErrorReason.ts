/**
 * Recognises provider errors with a meaning of their own: a filtered prompt, one that is too long for the model, and a call that
 * the provider could not parse. Each provider words them differently, and only some give them a code.
 */
import { ModelError } from "../../../services/ModelGateway.ts"
import type { Turn } from "../../../src/run/RunDecider.ts"
import { record } from "./ProviderFound.ts"

/** Documented by OpenAI, Anthropic, Amazon, Google, Mistral, vLLM and llama.cpp. */
const codes =
  /^(context_length_exceeded|exceed_context_size_error|model_max_prompt_tokens_exceeded)$/i

const words: ReadonlyArray<RegExp> = [
  /(prompt|input) is too long/i,
  /maximum context length/i,
  /exceeds? (the )?(model's )?(available )?context (window|size|limit|length)/i,
  /input token count .{0,40}exceeds the maximum number of tokens/i,
  /too (long|large) for (the )?model.{0,60}context/i,
  /reduce the length of the messages/i
]

/** Whether an error says that the prompt is too long. `names` are the provider's codes, `text` is its reason. */
export const isTooLong = (names: ReadonlyArray<unknown>, text: string): boolean =>
  names.some((name) => typeof name === "string" && codes.test(name)) ||
  words.some((each) => each.test(text))

type Entry = Readonly<Record<string, unknown>>

const filterNames =
  /^(content_filter|content_policy_violation|ResponsibleAIPolicyViolation|moderation_blocked|data_inspection_failed)$/i

/** Whether a moderation refused the prompt. OpenRouter says who flagged it, and why, in the error's metadata. */
const isModerated = (error: Entry): boolean => {
  const metadata = record(error["metadata"])
  return "flagged_input" in metadata || Array.isArray(metadata["reasons"])
}

/** Whether the prompt was filtered. `names` are the provider's codes. */
export const isFiltered = (error: Entry, names: ReadonlyArray<string>): boolean =>
  isModerated(error) ||
  [...names, record(error["innererror"])["code"]].some(
    (name) => typeof name === "string" && filterNames.test(name)
  )

const isUseFailed = (names: ReadonlyArray<string>): boolean =>
  names.some((name) => /^tool_use_failed$/i.test(name))

export const reasonOf = (
  error: Entry,
  names: ReadonlyArray<string>,
  text: string
): { readonly reason?: string } => {
  if (isUseFailed(names)) return { reason: "tool_use_failed" }
  if (isFiltered(error, names)) return { reason: "content_filter" }
  return isTooLong(names, text) ? { reason: "context_length" } : {}
}

/** The provider's message about a call that it could not parse, with the text that the model wrote. */
export const withGeneration = (error: Entry, text: string): string => {
  const written = error["failed_generation"]
  return typeof written === "string" && written !== "" ? `${text} ${written}` : text
}

/** A call whose arguments stopped the client. */
export const unreadableArguments = (text: string): ModelError =>
  new ModelError({
    kind: "refused",
    reason: "tool_use_failed",
    message: `the arguments of a call were not JSON: ${text}`
  })

export const isUnreadableCall = (error: ModelError): boolean => error.reason === "tool_use_failed"

/** A turn with a malformed call. The model gets the error as its result and is asked again, within the bound on mistakes. */
export const unreadableTurn = (error: ModelError, model: string): Turn => ({
  text: "",
  calls: [],
  finish: "other",
  finish_raw: "tool_use_failed",
  unreadable: error.message,
  model
})
