/**
 * How long what a model is shown is, in whatever unit the caller counts: UTF-16 units at once, tokens where it matters.
 */
import type { TranscriptEntry } from "./Transcript.ts"
import { resultText } from "./Transcript.ts"

/** Tokens, or any other length, of a text. Pure. */
export type Measure = (text: string) => number

export const units: Measure = (text) => text.length

/** No tokenizer over bytes makes more tokens of a text than its UTF-8 has bytes: at most three for each UTF-16 unit. */
export const tokens_per_unit_max = 3

/** What a message costs beside its text: role and separators. */
export const entry_overhead = 4

/** What its provider alone reads (signatures, encrypted reasoning) is not counted: it is no text of the prompt. */
export const entrySize = (entry: TranscriptEntry, measure: Measure): number => {
  switch (entry.role) {
    case "user":
      return entry_overhead + measure(entry.text)
    case "tool":
      return entry_overhead + measure(resultText(entry))
    case "assistant": {
      let size = entry_overhead + measure(entry.text)
      for (const call of entry.calls) {
        size += entry_overhead + measure(call.name) + measure(JSON.stringify(call.arguments))
      }
      if (entry.reasoning !== undefined) {
        for (const part of entry.reasoning) size += measure(part.text)
      }
      return size
    }
  }
}

export const sizeOf = (entries: ReadonlyArray<TranscriptEntry>, measure: Measure): number => {
  let size = 0
  for (const entry of entries) size += entrySize(entry, measure)
  return size
}
