/**
 * How a provider says that its answer ended, and what it counted, in the words of a turn.
 */
import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from "@ai-sdk/provider"
import { truncateUnits } from "../../../src/value/CutText.ts"
import type { FinishReason, Usage } from "../../../src/run/RunEvent.ts"
import { unstated_finish } from "./ChatWire.ts"

/** More than any turn has; the counts of many turns together are still exact. */
const count_max = 1_000_000_000_000

/** What cannot be a number of tokens was not counted: the journal could not keep it, and the turn would be lost with it. */
const count = (tokens: number | undefined): number | undefined =>
  tokens !== undefined && Number.isFinite(tokens) && tokens >= 0 && tokens <= count_max
    ? Math.trunc(tokens)
    : undefined

/** A turn's usage; undefined if the provider counted nothing, which some clients give as zeros. */
export const usageOf = (usage: LanguageModelV4Usage): Usage | undefined => {
  const input = count(usage.inputTokens.total)
  const output = count(usage.outputTokens.total)
  if ((input ?? 0) === 0 && (output ?? 0) === 0) return undefined
  const cached = count(usage.inputTokens.cacheRead)
  const written = count(usage.inputTokens.cacheWrite)
  const reasoning = count(usage.outputTokens.reasoning)
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    ...(cached === undefined ? undefined : { cached_tokens: cached }),
    ...(written === undefined || written === 0 ? undefined : { cache_write_tokens: written }),
    ...(reasoning === undefined ? undefined : { reasoning_tokens: reasoning })
  }
}

export const sumUsage = (one: Usage | undefined, two: Usage | undefined): Usage | undefined => {
  if (one === undefined || two === undefined) return one ?? two
  const add = (name: "cached_tokens" | "cache_write_tokens" | "reasoning_tokens") => {
    const sum = (one[name] ?? 0) + (two[name] ?? 0)
    return one[name] === undefined && two[name] === undefined ? {} : { [name]: sum }
  }
  return {
    input_tokens: one.input_tokens + two.input_tokens,
    output_tokens: one.output_tokens + two.output_tokens,
    ...add("cached_tokens"),
    ...add("cache_write_tokens"),
    ...add("reasoning_tokens")
  }
}

/** A refusal ends with the wire's word for a good end, or with none; the client makes it a filter of content. */
const refusals: ReadonlySet<string | undefined> = new Set([undefined, "stop", "refusal"])

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "))

/** The wire's words for a turn that calls tools. A client says so of others too, such as a cut that it does not know. */
const tool_words = words("stop tool_calls tool-calls tool_use tool_call function_call")

/** Words for an end that is a failure, which clients map to an end like any other. */
const failed_words = words("error timeout insufficient_system_resource")

/** Words of some servers for an end that is a good one, and no word at all. */
const natural = new Set([
  "",
  unstated_finish,
  "eos",
  "eos_token",
  "end_of_text",
  "end",
  "completed"
])

/** Words of filters, and of a prompt that left no room, that clients do not know. */
const filter_words = words("model_armor image_prohibited_content image_recitation jailbreak")
const length_words = words("model_context_window_exceeded")

/** What Gemini says where it made a call that it cannot read itself, here and through other endpoints. */
const unread =
  /MALFORMED_FUNCTION_CALL|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS|MALFORMED_RESPONSE/i

export const isUnreadable = ({ raw }: LanguageModelV4FinishReason): boolean =>
  raw !== undefined && unread.test(raw)

/** The provider stopped in the middle, and goes on when it is sent what it said so far. */
export const isPaused = ({ raw }: LanguageModelV4FinishReason): boolean =>
  raw === "pause_turn" || raw === "pause" || raw === "compaction"

export interface TurnCalls {
  readonly calls: number
  /** True = every call came with arguments that can be parsed. */
  readonly whole: boolean
  /** True = a call was begun and not closed, so that the turn is not all that its model meant. */
  readonly open?: boolean
}

/** Whether a client says that it was never told how the answer ended. */
export const isUnsaid = ({ raw, unified }: LanguageModelV4FinishReason): boolean =>
  unified === "other" && raw === undefined

/** Undefined = the turn did not finish. */
export const finishOf = (
  finish: LanguageModelV4FinishReason,
  { calls, open = false, whole }: TurnCalls
): FinishReason | undefined => {
  const { raw, unified } = finish
  if (isPaused(finish) || isUnreadable(finish)) return "other"
  const word = raw?.toLowerCase()
  if (word !== undefined && failed_words.has(word)) return undefined
  if (word !== undefined && filter_words.has(word)) return "content_filter"
  if (word !== undefined && length_words.has(word)) return "length"
  if (open && (unified === "stop" || unified === "tool-calls")) return "other"
  switch (unified) {
    case "stop":
      // Some servers say stop after a call.
      return calls > 0 ? "tool_calls" : "stop"
    case "tool-calls":
      return word === undefined || tool_words.has(word) || natural.has(word)
        ? "tool_calls"
        : "other"
    case "length":
      return "length"
    case "content-filter":
      return refusals.has(raw) ? "refusal" : "content_filter"
    case "other":
      // Also where a stream was ended in order, and never said why.
      return calls > 0 && whole && natural.has(word ?? "") ? "tool_calls" : "other"
    case "error":
    case "interrupted":
      return undefined
  }
}

/** Words that say what `finish` says already. */
const plain = words(
  "stop end_turn complete completed tool_calls tool-calls tool_use tool_call function_call length " +
    "max_tokens max_output_tokens content_filter refusal"
)

/** The wire's finish reason where it says more than `finish`; undefined for one that the wire did not give. */
export const rawFinishOf = (raw: string | undefined, finish: FinishReason): string | undefined => {
  if (raw === undefined || raw === "" || raw === unstated_finish) return undefined
  return finish !== "other" && plain.has(raw.toLowerCase()) ? undefined : truncateUnits(raw, 200)
}
