/**
 * Collects, within bounds, what a provider did by itself during a turn, as its client reports it: tools that it ran, and sources
 * of its text.
 */
import type {
  LanguageModelV4Source,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResult,
  SharedV4ProviderMetadata
} from "@ai-sdk/provider"
import type { ProviderToolName } from "../../../src/agent/ProviderTools.ts"
import { providerToolOf } from "../../../src/agent/ProviderTools.ts"
import { truncateUnits } from "../../../src/value/CutText.ts"
import type { ProviderRan, Source } from "../../../src/run/ProviderWork.ts"
import {
  ran_max,
  ran_units_max,
  source_units_max,
  sources_max
} from "../../../src/run/ProviderWork.ts"

/** The metadata key under which data that a client drops is passed on at the end of an answer. */
export const found_key = "troupe.found"

export interface Found {
  readonly ran?: ReadonlyArray<{
    readonly name: string
    readonly arguments: string
    readonly result?: string
  }>
  readonly sources?: ReadonlyArray<Source>
  readonly images?: ReadonlyArray<string>
}

const wellFormed = (text: string): string => text.toWellFormed()

const cut = (text: string, units: number): string => wellFormed(truncateUnits(text, units))

/** The value as JSON; empty if it is too deep to be encoded. */
export const jsonText = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return ""
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** The members of an object; none of any other value. */
export const record = (value: unknown): Readonly<Record<string, unknown>> =>
  isRecord(value) ? value : {}

/** A result that says itself that the tool failed: of an MCP server, of a sandbox of Anthropic's, of one of Gemini's. */
const isFailure = ({ error, outcome, type }: Readonly<Record<string, unknown>>): boolean =>
  (error !== undefined && error !== null) ||
  (typeof type === "string" && type.endsWith("_error")) ||
  (typeof outcome === "string" && outcome !== "OUTCOME_OK")

const keyOf = ({ document, title, url }: Source): string =>
  JSON.stringify([url ?? null, document ?? null, url === undefined ? title : null])

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

export class ProviderFound {
  private readonly ran: Array<Mutable<ProviderRan>> = []
  private readonly sources = new Map<string, Source>()
  /** Addresses that a search found, and that the text is not known to cite. */
  private readonly searched = new Set<string>()

  /** Adds a call that the provider ran. A call that is reported twice counts once. */
  called({
    input,
    providerMetadata,
    toolCallId,
    toolName
  }: Pick<
    LanguageModelV4ToolCall,
    "input" | "providerMetadata" | "toolCallId" | "toolName"
  >): void {
    if (this.ran.length >= ran_max || this.ran.some(({ id }) => id === toolCallId)) return
    const server = providerMetadata?.["anthropic"]?.["serverName"]
    this.ran.push({
      id: cut(toolCallId, 200),
      name: cut(toolName, 200),
      ...(typeof server === "string" ? { server: cut(server, 200) } : undefined),
      arguments: cut(input, ran_units_max),
      arguments_units: input.length
    })
  }

  /** Sets the result of a call; the last one counts. */
  gave({
    isError,
    providerMetadata,
    result,
    toolCallId,
    toolName
  }: Pick<
    LanguageModelV4ToolResult,
    "isError" | "providerMetadata" | "result" | "toolCallId" | "toolName"
  >): void {
    const id = cut(toolCallId ?? "", 200)
    let ran = this.ran.find((each) => each.id === id)
    if (ran === undefined) {
      const metadata = providerMetadata === undefined ? undefined : { providerMetadata }
      this.called({ input: "", toolCallId: id, toolName, ...metadata })
      ran = this.ran.find((each) => each.id === id)
    }
    if (ran === undefined) return
    const text = jsonText(result)
    ran.result = cut(text, ran_units_max)
    ran.result_units = text.length
    const said = isRecord(result) ? result : {}
    if (typeof said["serverLabel"] === "string") {
      ran.server = cut(said["serverLabel"], 200)
      ran.name = ran.name.replace(/^mcp\./, "")
    }
    if (isError === true || isFailure(said)) ran.failed = true
  }

  refers(source: LanguageModelV4Source): void {
    const title = source.title === undefined || source.title === "" ? {} : { title: source.title }
    if (source.sourceType === "url") {
      const own = source.providerMetadata?.["anthropic"]
      // Anthropic's client tells each result of a search; what a text cites of them is in the text's own data.
      if (own !== undefined && own["citedText"] === undefined) this.onlyFound(source.url)
      this.add({ url: source.url, ...title })
    } else this.add({ document: source.filename ?? source.mediaType, ...title })
  }

  /** Adds data that the client drops but the response contains. */
  addFound(found: Found): void {
    for (const { arguments: input, name, result } of found.ran ?? []) {
      const toolCallId = `ran_${this.ran.length}`
      this.called({ input, toolCallId, toolName: name })
      if (result !== undefined) this.gave({ toolCallId, toolName: name, result })
    }
    for (const source of found.sources ?? []) this.add(source)
  }

  /** Adds Gemini's searches and reads, which it reports only at the end of an answer. */
  addGrounding(metadata: SharedV4ProviderMetadata | undefined): void {
    // The same is given under each name that the provider has.
    const said = Object.values(metadata ?? {}).find(
      ({ groundingMetadata, urlContextMetadata }) =>
        isRecord(groundingMetadata) || isRecord(urlContextMetadata)
    )
    this.addSearches(said?.["groundingMetadata"])
    this.addPages(said?.["urlContextMetadata"])
  }

  /** Takes the pages that a text cites, from its provider's data. */
  cites(metadata: SharedV4ProviderMetadata | undefined): void {
    const citations = metadata?.["anthropic"]?.["citations"]
    if (!Array.isArray(citations)) return
    for (const each of citations) {
      if (isRecord(each) && typeof each["url"] === "string") this.searched.delete(each["url"])
    }
  }

  /** A page that is there already may be one that the text cites. */
  private onlyFound(url: string): void {
    if (this.searched.size < sources_max && !this.sources.has(keyOf({ url })))
      this.searched.add(url)
  }

  /** Gemini tells which of the pages that it found stand behind a part of its text. */
  private addSupports({ groundingChunks, groundingSupports }: Readonly<Record<string, unknown>>) {
    if (!Array.isArray(groundingChunks) || !Array.isArray(groundingSupports)) return
    const cited = new Set(
      groundingSupports.flatMap((each: unknown): ReadonlyArray<unknown> => {
        const indices = isRecord(each) ? each["groundingChunkIndices"] : undefined
        return Array.isArray(indices) ? indices : []
      })
    )
    for (const [index, chunk] of groundingChunks.slice(0, sources_max).entries()) {
      const web = isRecord(chunk) ? chunk["web"] : undefined
      const url = isRecord(web) ? web["uri"] : undefined
      if (cited.size > 0 && typeof url === "string" && !cited.has(index)) this.searched.add(url)
    }
  }

  private addSearches(grounding: unknown): void {
    if (!isRecord(grounding)) return
    this.addSupports(grounding)
    const searched = (name: ProviderToolName, queries: unknown) => {
      if (!Array.isArray(queries) || queries.length === 0) return
      // A model that has tools of the agent besides says each search as a call.
      if (this.ran.some((each) => providerToolOf(each) === name)) return
      this.called({ toolCallId: name, toolName: name, input: jsonText({ queries }) })
    }
    searched("web_search", grounding["webSearchQueries"])
    searched("file_search", grounding["retrievalQueries"])
  }

  private addPages(context: unknown): void {
    const pages = isRecord(context) ? context["urlMetadata"] : undefined
    if (!Array.isArray(pages) || pages.length === 0) return
    const urls: Array<unknown> = []
    for (const page of pages.slice(0, sources_max)) {
      const { retrievedUrl: url, urlRetrievalStatus: status } = isRecord(page) ? page : {}
      urls.push(url)
      if (typeof url === "string" && status === "URL_RETRIEVAL_STATUS_SUCCESS") this.add({ url })
    }
    if (this.ran.some((each) => providerToolOf(each) === "web_fetch")) return
    const call = { toolCallId: "web_fetch", toolName: "web_fetch" }
    this.called({ ...call, input: jsonText({ urls }) })
    this.gave({ ...call, result: pages })
  }

  private add(source: Source): void {
    const key = keyOf(source)
    const known = this.sources.get(key)
    if (known === undefined ? this.sources.size >= sources_max : known.title !== undefined) return
    const bounded: Mutable<Source> = {}
    for (const name of ["url", "title", "document"] as const) {
      const text = source[name]
      if (text !== undefined) bounded[name] = cut(text, source_units_max)
    }
    this.sources.set(key, bounded)
  }

  /** The sources that the text cites; all that were found, where it is not known to cite any. */
  private cited(): ReadonlyArray<Source> {
    const all = [...this.sources.values()]
    const cited = all.filter(({ url }) => url === undefined || !this.searched.has(url))
    return cited.length === 0 ? all : cited
  }

  /** Absent members = nothing. An id that the client made up is replaced by the use's position. */
  found(madeUp?: RegExp): { ran?: ReadonlyArray<ProviderRan>; sources?: ReadonlyArray<Source> } {
    return {
      ...(this.ran.length === 0
        ? undefined
        : {
            ran: this.ran.map((each, index) =>
              madeUp?.test(each.id) === true ? { ...each, id: `ran_${index}` } : each
            )
          }),
      ...(this.sources.size === 0 ? undefined : { sources: this.cited() })
    }
  }
}
