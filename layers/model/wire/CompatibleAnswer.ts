/**
 * Extracts what OpenAI-compatible endpoints add to the wire format and their client drops: signed or encrypted reasoning, other
 * names for cached tokens, annotations and citations, tools that ran at the provider, and images that the model made.
 */
import type { LanguageModelV4Usage, SharedV4ProviderMetadata } from "@ai-sdk/provider"
import { message_part_kind } from "./TurnParts.ts"
import { parts_max } from "../../../src/conversation/Part.ts"
import type { Source } from "../../../src/run/ProviderWork.ts"
import { ran_max, sources_max } from "../../../src/run/ProviderWork.ts"
import type { Found } from "./ProviderFound.ts"
import { found_key, jsonText, record } from "./ProviderFound.ts"

/** One more than a turn may have, which is then refused. */
const images_max = parts_max + 1

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const sourceOf = (url: unknown, title?: unknown): Source | undefined =>
  typeof url === "string" && url !== ""
    ? { url, ...(typeof title === "string" && title !== "" ? { title } : undefined) }
    : undefined

const textOf = (value: unknown): string => (typeof value === "string" ? value : jsonText(value))

type Ran = NonNullable<Found["ran"]>[number]

const ranOf = (value: unknown): Ran => {
  const tool = record(value)
  const { output, search_results } = tool
  const result = output ?? search_results
  return {
    name: textOf(tool["name"] ?? tool["type"] ?? ""),
    arguments: textOf(tool["arguments"]),
    ...(result === undefined || result === null ? undefined : { result: textOf(result) })
  }
}

/** Collects findings from the pieces of an answer. Each chunk of a stream may repeat what earlier ones contained. */
class CompatibleFound {
  private readonly sources = new Map<string, Source>()
  /** Addresses that the answer cites; others were only found. */
  private readonly cited = new Set<string>()
  private readonly ran = new Map<string, Ran>()
  /** The images, each once, because a stream may repeat one. */
  private readonly images = new Set<string>()

  /** Adds a piece: `body` is an answer or a chunk of one, `message` its message or delta. */
  add(body: unknown, message: unknown): void {
    const whole = record(body)
    const fields = record(message)
    for (const each of list(fields["annotations"])) {
      const annotation = record(each)
      const cited = record(annotation["url_citation"] ?? annotation)
      this.cites(sourceOf(cited["url"], cited["title"]))
    }
    for (const each of [...list(whole["search_results"]), ...list(fields["search_results"])]) {
      this.source(sourceOf(record(each)["url"], record(each)["title"]))
    }
    for (const each of [...list(whole["citations"]), ...list(fields["citations"])]) {
      this.cites(typeof each === "string" ? sourceOf(each) : sourceOf(record(each)["url"]))
    }
    for (const each of list(fields["images"])) {
      const { url } = record(record(each)["image_url"])
      if (typeof url === "string" && this.images.size < images_max) this.images.add(url)
    }
    for (const each of list(fields["executed_tools"])) {
      const key = String(record(each)["index"] ?? this.ran.size)
      if (this.ran.has(key) || this.ran.size < ran_max) this.ran.set(key, ranOf(each))
    }
  }

  metadata(): SharedV4ProviderMetadata | undefined {
    const { images, ran, sources } = this
    if (sources.size === 0 && ran.size === 0 && images.size === 0) return undefined
    const all = [...sources.values()]
    const cited = all.filter(({ url = "" }) => this.cited.has(url))
    const found: Found = {
      sources: cited.length === 0 ? all : cited,
      ran: [...ran.values()],
      images: [...images]
    }
    return { [found_key]: found } as unknown as SharedV4ProviderMetadata
  }

  private cites(source: Source | undefined): void {
    if (source?.url !== undefined && this.cited.size < sources_max) this.cited.add(source.url)
    this.source(source)
  }

  private source(source: Source | undefined): void {
    if (source?.url === undefined) return
    const known = this.sources.get(source.url)
    if (known === undefined ? this.sources.size < sources_max : known.title === undefined) {
      this.sources.set(source.url, source)
    }
  }
}

/** The key of the client's own metadata and options. */
export const compatible_key = "openaiCompatible"

type Entry = Readonly<Record<string, unknown>>

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const details_max = 1_000

/** Pieces of one detail share its index and type; their texts are joined, other members occur once. */
const joined = (one: Entry, two: Entry): Entry => {
  const all: Record<string, unknown> = { ...one }
  for (const [name, value] of Object.entries(two)) {
    if (name === "text" || name === "summary" || name === "data") {
      all[name] = text(one[name]) + text(value)
    } else if (value !== null && value !== "") all[name] = value
  }
  return all
}

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

/** The metadata of a finished answer: what belongs to its message as a whole, and the provider's own tools and sources. */
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
