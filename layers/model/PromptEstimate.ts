/**
 * About how many tokens a request takes, before any provider has counted them. Four characters to a token, which is near
 * for English text and too low for others; the provider's own count replaces it as soon as there is one.
 */
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import { resultText } from "../../src/conversation/Transcript.ts"
import type { ModelRequest, ModelTool } from "../../services/ModelGateway.ts"

const characters_per_token = 4
/** What an answer takes, where nothing is known of it. */
const answer_tokens = 500

const charactersOf = (entry: TranscriptEntry): number => {
  switch (entry.role) {
    case "user":
      return entry.text.length
    case "assistant": {
      let characters = entry.text.length
      for (const call of entry.calls) {
        characters += call.name.length + JSON.stringify(call.arguments).length
      }
      for (const part of entry.reasoning ?? []) characters += part.text.length
      return characters
    }
    case "tool":
      return resultText(entry).length
  }
}

interface Counted {
  entries: number
  characters: number
  last: TranscriptEntry | undefined
}

/** Counts each entry of a transcript once, however often it is asked for: a frame's transcript grows at its end. */
export class PromptEstimate {
  readonly #transcripts = new WeakMap<ReadonlyArray<TranscriptEntry>, Counted>()
  readonly #tools = new WeakMap<ReadonlyArray<ModelTool>, number>()

  #ofTranscript(transcript: ReadonlyArray<TranscriptEntry>): number {
    let counted = this.#transcripts.get(transcript)
    if (counted === undefined || transcript[counted.entries - 1] !== counted.last) {
      counted = { entries: 0, characters: 0, last: undefined }
      this.#transcripts.set(transcript, counted)
    }
    for (; counted.entries < transcript.length; counted.entries++) {
      counted.last = transcript[counted.entries]!
      counted.characters += charactersOf(counted.last)
    }
    return counted.characters
  }

  #ofTools(tools: ReadonlyArray<ModelTool>): number {
    let characters = this.#tools.get(tools)
    if (characters === undefined) {
      this.#tools.set(tools, (characters = JSON.stringify(tools).length))
    }
    return characters
  }

  /** Prompt and answer together, at least 1. */
  tokens(request: ModelRequest): number {
    const characters =
      request.system.length +
      this.#ofTranscript(request.history) +
      this.#ofTranscript(request.transcript) +
      this.#ofTools(request.tools)
    return Math.ceil(characters / characters_per_token) + answer_tokens
  }
}
