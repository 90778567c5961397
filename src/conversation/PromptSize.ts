/**
 * Computes the size of what a model is shown, in the caller's unit, and an upper bound of its tokens, which is cheaper than
 * counting them.
 */
import type { Json } from "../value/Canonical.ts"
import type { Part } from "./Part.ts"
import { fileTokens } from "./Part.ts"
import type { TranscriptEntry } from "./Transcript.ts"
import { resultText } from "./Transcript.ts"
import type { Measure } from "./TokenEstimate.ts"

export const utf16Units: Measure = (text) => text.length

/**
 * The most tokens for one UTF-16 unit: it has at most three bytes in UTF-8, and no byte-based tokenizer makes more tokens than
 * bytes.
 */
const tokens_per_unit_max = 3

/** The most tokens for one unit of a text in JSON, whose escape has at most six bytes, and for a number or a literal. */
const tokens_per_json_unit_max = 6
const tokens_per_number_max = 24
/** The approximate length of a number or a literal in JSON. */
const units_per_number = 5

/** The tokens of a message besides its text: its role and separators. */
const entry_overhead = 4

/** The size of an entry's parts, which it has besides its text, results and calls. */
const partsSize = (parts: ReadonlyArray<Part>, measure: Measure): number => {
  let size = 0
  for (const part of parts) {
    size += part.type === "text" ? entry_overhead + measure(part.text) : fileTokens(part)
  }
  return size
}

/**
 * The size of an entry. It leaves out data that only the provider reads (signatures, encrypted reasoning) and that is not text
 * of the prompt. `ofJson` gives the size of arguments; absent = the size of their JSON text.
 */
export const entrySize = (
  entry: TranscriptEntry,
  measure: Measure,
  ofJson?: (value: Json) => number
): number => {
  switch (entry.role) {
    case "user":
      return entry.parts === undefined
        ? entry_overhead + measure(entry.text)
        : entry_overhead + measure(entry.text) + partsSize(entry.parts, measure)
    case "tool":
      return entry.files === undefined
        ? entry_overhead + measure(resultText(entry))
        : entry_overhead + measure(resultText(entry)) + partsSize(entry.files, measure)
    case "assistant": {
      let size = entry_overhead + measure(entry.text)
      for (const call of entry.calls) {
        const { arguments: args, name } = call
        const json = ofJson === undefined ? measure(JSON.stringify(args)) : ofJson(args)
        size += entry_overhead + measure(name) + json
      }
      if (entry.reasoning !== undefined) {
        for (const part of entry.reasoning) size += measure(part.text)
      }
      if (entry.files !== undefined) size += partsSize(entry.files, measure)
      return size
    }
  }
}

/**
 * The size of a value's JSON, computed without encoding it. `of_unit` is the size of each unit of a text, and `of_other` that of
 * any other scalar.
 */
const jsonSize = (value: Json, of_unit: number, of_other: number): number => {
  if (typeof value === "string") return 2 + value.length * of_unit
  if (typeof value !== "object" || value === null) return of_other
  let size = 2
  if (Array.isArray(value)) {
    for (const item of value) size += 1 + jsonSize(item, of_unit, of_other)
    return size
  }
  for (const name in value) {
    const member = (value as Readonly<Record<string, Json>>)[name]
    if (member === undefined) continue
    size += 4 + name.length * of_unit + jsonSize(member, of_unit, of_other)
  }
  return size
}

/** An upper bound of the tokens of a value's JSON. */
const jsonMost = (value: Json): number =>
  jsonSize(value, tokens_per_json_unit_max, tokens_per_number_max)

/** The approximate length of a value's JSON, in UTF-16 units. */
export const jsonUnits = (value: Json): number => jsonSize(value, 1, units_per_number)

const unitsMost: Measure = (text) => text.length * tokens_per_unit_max

/** An upper bound of an entry's tokens by any byte-based tokenizer. */
export const entryMost = (entry: TranscriptEntry): number => entrySize(entry, unitsMost, jsonMost)

/** About as many UTF-16 units as the entries have: for what they hold in memory (bench row `send`, 1,000 runs). */
export const heldUnits = (entries: ReadonlyArray<TranscriptEntry>): number => {
  let units = 0
  for (const entry of entries) units += entrySize(entry, utf16Units, jsonUnits)
  return units
}

export const sizeOf = (entries: ReadonlyArray<TranscriptEntry>, measure: Measure): number => {
  let size = 0
  for (const entry of entries) size += entrySize(entry, measure)
  return size
}
