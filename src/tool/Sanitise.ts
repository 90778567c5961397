/**
 * Sanitises the model's copy of a text from outside: invisible characters and role markers are removed, and markup is escaped.
 * The journal keeps the original text.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import { bounds_carried, readJson } from "../value/BoundedJson.ts"
import { may_be_invisible, withoutInvisible } from "../value/InvisibleText.ts"
import { mapLeaves } from "../value/JsonText.ts"

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

const piece_units = 8_192

const textOf = (units: Uint16Array): string => {
  let text = ""
  for (let from = 0; from < units.length; from += piece_units) {
    text += String.fromCharCode(...units.subarray(from, from + piece_units))
  }
  return text
}

/**
 * Removes markers, including those that the removal of another one creates. It takes one pass: at each unit that may end a marker,
 * the text kept so far is compared.
 */
const withoutMarkers = (text: string): string => {
  if (!any_marker.test(text)) return text
  const kept = new Uint16Array(text.length)
  let length = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    kept[length++] = unit
    if (isMarkerEnd(unit)) length = markerBegin(kept, length) ?? length
  }
  return textOf(kept.subarray(0, length))
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#x27;"
}

/**
 * Sanitises a plain text, such as a file's, without escaping markup, so that a model sees it unchanged otherwise. Half of a
 * surrogate pair becomes U+FFFD, because strict providers refuse every request that has one.
 */
export const sanitiseText = (text: string): string =>
  withoutMarkers(withoutInvisible(text)).toWellFormed()

const leaf = (text: string): string =>
  sanitiseText(text).replace(/[&<>"']/g, (character) => entities[character] ?? character)

/**
 * The members under sanitised names, which are not escaped. If two members would get the same name, both are kept: a name that
 * needed no change stays, and the others are numbered, as in `total (2)`.
 */
const named = (
  members: ReadonlyArray<readonly [string, Json]>
): ReadonlyArray<readonly [string, Json]> => {
  const clean = members.map(([given, member]) => ({ given, name: sanitiseText(given), member }))
  const kept = clean.filter(({ given, name }) => given === name)
  if (kept.length === members.length) return members
  const taken = new Set(kept.map(({ name }) => name))
  const numbers = new Map<string, number>()
  return clean.map(({ given, member, name }) => {
    if (name === given) return [name, member]
    let free = name
    for (let number = numbers.get(name) ?? 2; taken.has(free); number++) {
      free = `${name} (${number})`
      numbers.set(name, number + 1)
    }
    taken.add(free)
    return [free, member]
  })
}

const cleaned = (value: Json, text: (text: string) => string): Json =>
  mapLeaves(
    value,
    (leaf) => (typeof leaf === "string" ? text(leaf) : leaf),
    (object) => named(Object.entries(object))
  ) as Json

/** Sanitises and escapes every text of a JSON value, at any depth. Names of members are sanitised but not escaped. */
export const sanitise = (value: Json): Json => cleaned(value, leaf)

/** Sanitises every text and name of a JSON value, at any depth, without escapes. */
export const sanitiseTexts = (value: Json): Json => cleaned(value, sanitiseText)

/** Matches a JSON text that may have to be sanitised. Most texts do not match, and are not parsed. */
const suspicious = new RegExp(
  `[&<>']|\\\\["bfu]|__system__|\\[/?(?:INST|SYSTEM|AVAILABLE|TOOL)|${may_be_invisible.source}`,
  "i"
)

/** ASCII characters that no match of `suspicious` begins with. */
const harmless = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit)
  return "\\_[".includes(character) || suspicious.test(character) ? 0 : 1
})

/** Whether two characters look like the start of a match of `suspicious`. In JSON, a list seldom begins with a letter. */
const isBegin = (unit: number, next: number): boolean => {
  if (unit === 95) return next === 95
  return unit !== 91 || next === 47 || (next >= 65 && next <= 90) || (next >= 97 && next <= 122)
}

/** A quick check that runs before `suspicious`, which takes four times as long (bench row `step`). */
const mayBeSuspicious = (json: string): boolean => {
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at)
    if (harmless[unit] !== 1 && isBegin(unit, json.charCodeAt(at + 1))) return true
  }
  return false
}

/** As much of a result is sanitised: it is more than a model is shown of one. */
export const sanitised_units_max = 262_144

const asText = (json: string, texts: boolean): string => {
  const text = sanitiseText(json)
  return texts ? text : text.replace(/[&<>']/g, (character) => entities[character] ?? character)
}

/**
 * The sanitised form of an encoded result, for a model; the same text if there is nothing to do. Texts are escaped unless the
 * result is one plain text, or `texts` says that all texts in it are plain. A part of a result is no JSON, and is one text.
 */
export const cleanResult = (json: string, texts: boolean, isWhole = true): string => {
  if (!mayBeSuspicious(json) || !suspicious.test(json)) return json
  if (!isWhole) return asText(json, texts)
  const read = readJson(json, bounds_carried)
  // A result of before there were bounds may be too deep to walk: it is sanitised as a text.
  if (Result.isFailure(read)) return asText(json, texts)
  const value = read.success
  const clean = texts || typeof value === "string" ? sanitiseTexts(value) : sanitise(value)
  return JSON.stringify(clean)
}
