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

const quoted = (token: string): string => token.replaceAll(/[[\]|/\\^$.*+?(){}]/g, "\\$&")

/** One word between bars: the form of most families. */
const barred = "<[|｜][\\w▁./:-]{1,48}[|｜]>"
const listed = [...new Set(marker_families.flat())].filter(
  (token) => !new RegExp(`^${barred}$`).test(token)
)
const source = `${listed.map(quoted).join("|")}|${barred}`

/** Matches a marker anywhere, in linear time: every repetition is bounded. */
export const any_marker = new RegExp(source, "i")
/** Matches a marker at the end of a text of at most `marker_units_max` UTF-16 units. */
export const last_marker = new RegExp(`(?:${source})$`, "i")
/** The longest marker, in UTF-16 units. */
export const marker_units_max = 52
/** The last characters of markers. */
export const marker_ends: ReadonlySet<string> = new Set(["_", ">", "]"])
/** Matches the characters with which markers begin and which they contain. */
export const marker_holds = /[\w▁./:<[|｜-]/
