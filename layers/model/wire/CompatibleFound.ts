/**
 * Collects what OpenAI-compatible endpoints report about their own searches and tools, which their client drops: annotations of
 * a message, lists of citations, tools that ran at the provider, and images that the model made.
 */
import type { SharedV4ProviderMetadata } from "@ai-sdk/provider"
import { parts_max } from "../../../src/conversation/Part.ts"
import { ran_max, sources_max } from "../../../src/run/ProviderWork.ts"
import type { Source } from "../../../src/run/ProviderWork.ts"
import { jsonText, found_key } from "./ProviderFound.ts"
import type { Found } from "./ProviderFound.ts"

/** One more than a turn may have, which is then refused. */
const images_max = parts_max + 1

type Entry = Readonly<Record<string, unknown>>

const record = (value: unknown): Entry =>
  typeof value === "object" && value !== null ? (value as Entry) : {}

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const sourceOf = (url: unknown, title?: unknown): Source | undefined =>
  typeof url === "string" && url !== ""
    ? { url, ...(typeof title === "string" && title !== "" ? { title } : undefined) }
    : undefined

const textOf = (value: unknown): string => (typeof value === "string" ? value : jsonText(value))

type Ran = NonNullable<Found["ran"]>[number]

/** Reads an entry of `executed_tools`: a tool that ran at the provider. */
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
export class CompatibleFound {
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
