/**
 * The tokens by which models tell the words of a system, of a user and of their own apart. In data they are an injection,
 * whichever model reads it: a run may change its model. One row for each family, with its source.
 *
 * Left out: `<s>` and `</s>` (also HTML, and no role), and words that people write, such as `Human:` at a line's beginning.
 */

/** In upper and lower case. `<|word|>` counts as a marker whatever the word: the lists of families grow. */
export const marker_families: ReadonlyArray<ReadonlyArray<string>> = [
  // Stargraph: https://github.com/KrakenNet/stargraph (runtime/tool_exec.py)
  ["__system__"],
  // ChatML: OpenAI until 2023, Qwen, Yi and others: https://github.com/openai/openai-python/blob/v0.28.1/chatml.md
  ["<|im_start|>", "<|im_end|>", "<|im_sep|>"],
  // OpenAI tiktoken: https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py
  ["<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"],
  // OpenAI Harmony (gpt-oss): https://cookbook.openai.com/articles/openai-harmony
  ["<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>"],
  // Llama 3: https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/
  [
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|python_tag|>"
  ],
  // Llama 4: https://www.llama.com/docs/model-cards-and-prompt-formats/llama4/
  ["<|header_start|>", "<|header_end|>", "<|eot|>", "<|eom|>"],
  // Llama 2: https://www.llama.com/docs/model-cards-and-prompt-formats/meta-llama-2/
  ["[INST]", "[/INST]", "<<SYS>>", "<</SYS>>"],
  // Mistral: https://docs.mistral.ai/guides/tokenization/
  [
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_CALLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CONTENT]"
  ],
  // Gemma: https://ai.google.dev/gemma/docs/core/prompt-structure
  ["<start_of_turn>", "<end_of_turn>"],
  // Cohere Command R: https://docs.cohere.com/docs/command-r-hf
  [
    "<BOS_TOKEN>",
    "<|START_OF_TURN_TOKEN|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|SYSTEM_TOKEN|>",
    "<|USER_TOKEN|>",
    "<|CHATBOT_TOKEN|>"
  ],
  // Phi-3, Zephyr, GLM: https://huggingface.co/microsoft/Phi-3-mini-4k-instruct
  ["<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"],
  // Granite: https://www.ibm.com/granite/docs/models/granite/
  ["<|start_of_role|>", "<|end_of_role|>", "<|tool_call|>"],
  // DeepSeek: https://huggingface.co/deepseek-ai/DeepSeek-V3/blob/main/tokenizer_config.json
  [
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁outputs▁begin｜>",
    "<｜tool▁outputs▁end｜>"
  ]
]

/** One word between bars: the form of most families. */
const barred = "<[|｜][\\w▁./:-]{1,48}[|｜]>"
const quoted = (token: string): string => token.replaceAll(/[[\]|/\\^$.*+?(){}]/g, "\\$&")
const listed = [...new Set(marker_families.flat())].filter(
  (token) => !new RegExp(`^${barred}$`).test(token)
)

/** Matches a marker anywhere, in linear time: every repetition is bounded. */
export const any_marker = new RegExp(`${listed.map(quoted).join("|")}|${barred}`, "i")

const unitsOf = (text: string): ReadonlyArray<number> =>
  Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))

/** The last two units of a text, as one number. */
const endOf = (last: number, before: number): number => last * 0x10000 + before

/** The listed markers in lower case, by their ends. */
const byEnd = new Map<number, ReadonlyArray<ReadonlyArray<number>>>()
for (const token of listed) {
  const units = unitsOf(token.toLowerCase())
  const end = endOf(units.at(-1) ?? 0, units.at(-2) ?? 0)
  byEnd.set(end, [...(byEnd.get(end) ?? []), units])
}

/** For the units of ASCII: 1 = a marker may end with it, 2 = it may be in a word between bars, 3 = both. */
const kinds = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit)
  const isEnd = character === ">" || listed.some((token) => token.endsWith(character))
  return (isEnd ? 1 : 0) + (/[\w./:-]/.test(character) ? 2 : 0)
})
const [less, greater, bar, wide_bar, block] = [0x3c, 0x3e, 0x7c, 0xff5c, 0x2581]
const word_max = 48

const isBar = (unit: number | undefined): boolean => unit === bar || unit === wide_bar
const isInWord = (unit: number): boolean => (unit < 128 ? (kinds[unit] ?? 0) > 1 : unit === block)
const inLowerCase = (unit: number): number => (unit >= 65 && unit <= 90 ? unit + 32 : unit)

/** May a marker end with this unit? */
export const isMarkerEnd = (unit: number): boolean => ((kinds[unit] ?? 0) & 1) === 1

/** Where `<|word|>` begins whose last unit is that before `length`. */
const barredBegin = (units: Uint16Array, length: number): number | undefined => {
  const end = length - 2
  if (!isBar(units[end])) return undefined
  let begin = end
  while (begin > 0 && end - begin < word_max && isInWord(units[begin - 1] ?? 0)) begin--
  return begin < end && begin > 1 && isBar(units[begin - 1]) && units[begin - 2] === less
    ? begin - 2
    : undefined
}

const endsWith = (units: Uint16Array, length: number, marker: ReadonlyArray<number>): boolean =>
  marker.length <= length &&
  marker.every((unit, index) => inLowerCase(units[length - marker.length + index] ?? 0) === unit)

/** Where the marker begins with which the first `length` units end; undefined = they end with none. */
export const markerBegin = (units: Uint16Array, length: number): number | undefined => {
  const last = units[length - 1] ?? 0
  const end = endOf(inLowerCase(last), inLowerCase(units[length - 2] ?? 0))
  const marker = byEnd.get(end)?.find((each) => endsWith(units, length, each))
  if (marker !== undefined) return length - marker.length
  return last === greater ? barredBegin(units, length) : undefined
}
