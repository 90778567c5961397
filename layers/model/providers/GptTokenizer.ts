/**
 * Counts tokens with OpenAI's own vocabularies, through the optional peer `gpt-tokenizer`. The count is exact for OpenAI's
 * models, and close for others, whose vocabularies have a similar size. It takes about ten times as long as the estimate.
 */
import { Effect, Layer } from "effect"
import { Tokenizer } from "../../../services/Tokenizer.ts"
import type { ModelError } from "../../../services/ModelGateway.ts"
import { loadPeer } from "./LoadPeer.ts"

/** `o200k_base`: GPT-4o and all that came after it. `cl100k_base`: GPT-4 and 3.5. */
export type Encoding = "o200k_base" | "cl100k_base"

const load = (encoding: Encoding) =>
  loadPeer("gpt-tokenizer", () =>
    encoding === "o200k_base"
      ? import("gpt-tokenizer/encoding/o200k_base")
      : import("gpt-tokenizer/encoding/cl100k_base")
  )

/** Counts special tokens of the vocabulary that occur in a text as plain text. */
const plainly = { disallowedSpecial: new Set<string>() }

/** The package merges a run of letters in quadratic time: 50,000 ideographs take it 20 s. A piece adds at most one token. */
const piece_units = 512

const make = Effect.fnUntraced(function* (encoding: Encoding) {
  const { countTokens } = yield* load(encoding)
  return Tokenizer.of({
    count: (text) => {
      if (text.length <= piece_units) return countTokens(text, plainly)
      let tokens = 0
      for (let from = 0; from < text.length;) {
        let to = Math.min(from + piece_units, text.length)
        const last = text.charCodeAt(to - 1)
        if (to < text.length && last >= 0xd800 && last <= 0xdbff) to++
        tokens += countTokens(text.slice(from, to), plainly)
        from = to
      }
      return tokens
    }
  })
})

/** Provides the `Tokenizer`. Fails with kind `configuration` if the package is not installed. */
export const layer = (encoding: Encoding = "o200k_base"): Layer.Layer<never, ModelError> =>
  Layer.effect(Tokenizer, make(encoding))
