/**
 * Does a provider refuse a prompt because it is too long for the model? Each says so in words of its own, and only some
 * give it a code. Names as documented by OpenAI, Anthropic, Google, Mistral, vLLM and llama.cpp.
 */
const codes =
  /^(context_length_exceeded|exceed_context_size_error|model_max_prompt_tokens_exceeded)$/i

const words: ReadonlyArray<RegExp> = [
  /prompt is too long/i,
  /maximum context length/i,
  /exceeds? (the )?(model's )?(available )?context (window|size|limit|length)/i,
  /input token count .{0,40}exceeds the maximum number of tokens/i,
  /too (long|large) for (the )?model.{0,60}context/i,
  /reduce the length of the messages/i
]

/** `names` are the provider's codes, `text` is its reason. */
export const isTooLong = (names: ReadonlyArray<unknown>, text: string): boolean =>
  names.some((name) => typeof name === "string" && codes.test(name)) ||
  words.some((each) => each.test(text))
