/**
 * What a provider did by itself during a turn, as its client tells it: tools that it ran, and what its text refers to. Bounded.
 */
import type {
  LanguageModelV4Source,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResult
} from "@ai-sdk/provider"
import { truncateUnits } from "../../src/CutText.ts"
import type { ProviderRan, Source } from "../../src/run/ProviderWork.ts"
import {
  ran_max,
  ran_units_max,
  source_units_max,
  sources_max
} from "../../src/run/ProviderWork.ts"

/** The key under which what a client leaves out is given with the end of an answer. */
export const found_key = "troupe.found"

/** What is given under that key. */
export interface Found {
  readonly ran?: ReadonlyArray<{
    readonly name: string
    readonly arguments: string
    readonly result?: string
  }>
  readonly sources?: ReadonlyArray<Source>
}

const whole = (text: string): string => text.toWellFormed()

const cut = (text: string, units: number): string => whole(truncateUnits(text, units))

/** As JSON; what is nested too deep to be written is nothing. */
export const jsonText = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return ""
  }
}

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

export class ProviderFound {
  private readonly ran: Array<Mutable<ProviderRan>> = []
  private readonly sources = new Map<string, Source>()

  /** A call that the provider ran. One that is reported twice is one. */
  called({
    input,
    toolCallId,
    toolName
  }: Pick<LanguageModelV4ToolCall, "input" | "toolCallId" | "toolName">): void {
    if (this.ran.length >= ran_max || this.ran.some(({ id }) => id === toolCallId)) return
    this.ran.push({
      id: cut(toolCallId, 200),
      name: cut(toolName, 200),
      arguments: cut(input, ran_units_max),
      arguments_units: input.length
    })
  }

  /** What came of it; of several the last counts. */
  gave({ isError, result, toolCallId, toolName }: LanguageModelV4ToolResult): void {
    const id = cut(toolCallId ?? "", 200)
    let ran = this.ran.find((each) => each.id === id)
    if (ran === undefined) {
      this.called({ input: "", toolCallId: id, toolName })
      ran = this.ran.find((each) => each.id === id)
    }
    if (ran === undefined) return
    const text = jsonText(result)
    ran.result = cut(text, ran_units_max)
    ran.result_units = text.length
    if (isError === true) ran.failed = true
  }

  refers(source: LanguageModelV4Source): void {
    const title = source.title === undefined || source.title === "" ? {} : { title: source.title }
    if (source.sourceType === "url") this.add({ url: source.url, ...title })
    else this.add({ document: source.filename ?? source.mediaType, ...title })
  }

  /** What a client leaves out and the wire has. */
  addFound(found: Found): void {
    for (const { arguments: input, name, result } of found.ran ?? []) {
      const toolCallId = `ran_${this.ran.length}`
      this.called({ input, toolCallId, toolName: name })
      if (result !== undefined)
        this.gave({ type: "tool-result", toolCallId, toolName: name, result })
    }
    for (const source of found.sources ?? []) this.add(source)
  }

  private add(source: Source): void {
    const key = JSON.stringify([
      source.url ?? null,
      source.document ?? null,
      source.url === undefined ? source.title : null
    ])
    const known = this.sources.get(key)
    if (known === undefined ? this.sources.size >= sources_max : known.title !== undefined) return
    const bounded: Mutable<Source> = {}
    for (const name of ["url", "title", "document"] as const) {
      const text = source[name]
      if (text !== undefined) bounded[name] = cut(text, source_units_max)
    }
    this.sources.set(key, bounded)
  }

  /** Nothing where there was nothing. */
  found(): { ran?: ReadonlyArray<ProviderRan>; sources?: ReadonlyArray<Source> } {
    return {
      ...(this.ran.length === 0 ? undefined : { ran: this.ran }),
      ...(this.sources.size === 0 ? undefined : { sources: [...this.sources.values()] })
    }
  }
}
