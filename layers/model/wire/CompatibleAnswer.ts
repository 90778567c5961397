/**
 * Extracts data that OpenAI-compatible endpoints add to the wire format and that their client drops: signed or encrypted
 * reasoning, and other names for cached tokens.
 */
import type { LanguageModelV4Usage, SharedV4ProviderMetadata } from "@ai-sdk/provider"
import { CompatibleFound } from "./CompatibleFound.ts"
import { message_part_kind } from "./TurnParts.ts"

/** The key of the client's own metadata and options. */
export const compatible_key = "openaiCompatible"

type Entry = Record<string, unknown>

const record = (value: unknown): Entry =>
  typeof value === "object" && value !== null ? (value as Entry) : {}

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const details_max = 1_000

/** Pieces of one detail share its index and type; their texts are joined, other members occur once. */
const joined = (one: Entry, two: Entry): Entry => {
  const all: Entry = { ...one }
  for (const [name, value] of Object.entries(two)) {
    if (name === "text" || name === "summary" || name === "data") {
      all[name] = text(one[name]) + text(value)
    } else if (value !== null && value !== "") all[name] = value
  }
  return all
}

/** Assembles the `reasoning_details` of a message from its pieces. */
class ReasoningDetails {
  private readonly entries: Array<Entry> = []

  add(message: unknown): void {
    const details = record(message)["reasoning_details"]
    if (!Array.isArray(details)) return
    for (const each of details) {
      const entry = record(each)
      const last = this.entries.at(-1)
      if (
        last !== undefined &&
        last["index"] === entry["index"] &&
        last["type"] === entry["type"]
      ) {
        this.entries[this.entries.length - 1] = joined(last, entry)
      } else if (this.entries.length < details_max) this.entries.push(entry)
    }
  }

  /** The metadata to send back; undefined if nothing is signed or encrypted, because then the reasoning's text is enough. */
  metadata(): SharedV4ProviderMetadata | undefined {
    const opaque = this.entries.some(
      (entry) => text(entry["signature"]) + text(entry["data"]) !== ""
    )
    return opaque
      ? ({
          [message_part_kind]: { [compatible_key]: { reasoning_details: this.entries } }
        } as SharedV4ProviderMetadata)
      : undefined
  }
}

const firstChoice = (body: unknown): Entry => {
  const choices = record(body)["choices"]
  return record(Array.isArray(choices) ? choices[0] : undefined)
}

/**
 * The metadata of a finished answer: what belongs to its message as a whole, and the provider's own tools and sources.
 */
export const metadataExtractor = {
  extractMetadata: async ({ parsedBody }: { parsedBody: unknown }) => {
    const { message } = firstChoice(parsedBody)
    const details = new ReasoningDetails()
    const found = new CompatibleFound()
    details.add(message)
    found.add(parsedBody, message)
    return { ...details.metadata(), ...found.metadata() }
  },
  createStreamExtractor: () => {
    const details = new ReasoningDetails()
    const found = new CompatibleFound()
    return {
      processChunk: (chunk: unknown) => {
        const { delta } = firstChoice(chunk)
        details.add(delta)
        found.add(chunk, delta)
      },
      buildMetadata: () => ({ ...details.metadata(), ...found.metadata() })
    }
  }
}

const first = (...counts: ReadonlyArray<unknown>): number | undefined =>
  counts.find((count): count is number => typeof count === "number")

/** Undefined when the endpoint reported no usage. */
export const convertUsage = (counted: unknown): LanguageModelV4Usage => {
  const usage = record(counted)
  const input = record(usage["prompt_tokens_details"])
  const output = record(usage["completion_tokens_details"])
  return {
    inputTokens: {
      total: first(usage["prompt_tokens"]),
      noCache: undefined,
      cacheRead: first(
        input["cached_tokens"],
        usage["prompt_cache_hit_tokens"],
        usage["num_cached_tokens"],
        usage["cached_tokens"]
      ),
      cacheWrite: first(input["cache_write_tokens"], usage["cache_creation_input_tokens"])
    },
    outputTokens: {
      total: first(usage["completion_tokens"]),
      text: undefined,
      reasoning: first(output["reasoning_tokens"])
    }
  }
}
