/**
 * Recognises refusals of prompts that are too long for the model. Each provider words them differently, and only some give them
 * a code. The names are documented by OpenAI, Anthropic, Amazon, Google, Mistral, vLLM and llama.cpp.
 */
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
