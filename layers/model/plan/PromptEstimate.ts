/**
 * Estimates the tokens of a request before any provider has counted them. The provider's own count replaces the estimate as soon
 * as there is one.
 */
import type { Part } from "../../../src/conversation/Part.ts"
import { fileTokens } from "../../../src/conversation/Part.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import { filesOf, resultText } from "../../../src/conversation/Transcript.ts"
import type { ModelRequest, ModelTool } from "../../../services/ModelGateway.ts"
import type { Tokenizer } from "../../../services/Tokenizer.ts"

/** The assumed tokens of an answer if nothing is known about it. */
const answer_tokens = 500

const withoutFiles = (text: string, parts: ReadonlyArray<Part>): string =>
  [text, ...parts.map((part) => (part.type === "text" ? part.text : ""))].join("\n")

const tokensOfFiles = (entry: TranscriptEntry): number => {
  let tokens = 0
  for (const file of filesOf(entry)) tokens += fileTokens(file)
  return tokens
}

/** Roughly the text of an entry that a model reads: names, arguments and texts. */
const textOf = (entry: TranscriptEntry): string => {
  switch (entry.role) {
    case "user":
      return entry.parts === undefined ? entry.text : withoutFiles(entry.text, entry.parts)
    case "assistant":
      return [
        entry.text,
        ...(entry.reasoning ?? []).map((part) => part.text),
        ...entry.calls.map((call) => call.name + JSON.stringify(call.arguments))
      ].join("\n")
    case "tool":
      return resultText(entry)
  }
}

interface Counted {
  entries: number
  tokens: number
  last: TranscriptEntry | undefined
}

/** Counts each entry of a transcript only once, because a frame's transcript only grows at its end. */
export class PromptEstimate {
  readonly #tokenizer: Tokenizer
  readonly #transcripts = new WeakMap<ReadonlyArray<TranscriptEntry>, Counted>()
  readonly #tools = new WeakMap<ReadonlyArray<ModelTool>, number>()
  /** The newest instructions and their tokens. An agent's instructions are mostly the same at every turn. */
  #system = { text: "", tokens: 0 }

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer
  }

  #ofTranscript(transcript: ReadonlyArray<TranscriptEntry>, model: string | undefined): number {
    let counted = this.#transcripts.get(transcript)
    if (counted === undefined || transcript[counted.entries - 1] !== counted.last) {
      counted = { entries: 0, tokens: 0, last: undefined }
      this.#transcripts.set(transcript, counted)
    }
    for (const entry of transcript.slice(counted.entries)) {
      counted.entries++
      counted.last = entry
      counted.tokens += this.#tokenizer.count(textOf(entry), model) + tokensOfFiles(entry)
    }
    return counted.tokens
  }

  #ofTools(tools: ReadonlyArray<ModelTool>, model: string | undefined): number {
    let tokens = this.#tools.get(tools)
    if (tokens === undefined) {
      tokens = this.#tokenizer.count(JSON.stringify(tools), model)
      this.#tools.set(tools, tokens)
    }
    return tokens
  }

  #ofSystem(text: string, model: string | undefined): number {
    if (this.#system.text !== text) {
      this.#system = { text, tokens: this.#tokenizer.count(text, model) }
    }
    return this.#system.tokens
  }

  /** The estimated tokens of prompt and answer together. */
  tokens({ history, model, settings, system, tools, transcript }: ModelRequest): number {
    return (
      this.#ofSystem(system, model) +
      this.#ofTranscript(history, model) +
      this.#ofTranscript(transcript, model) +
      this.#ofTools(tools, model) +
      Math.min(settings?.max_output_tokens ?? answer_tokens, answer_tokens)
    )
  }
}
