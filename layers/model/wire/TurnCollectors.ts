/**
 * What is collected beside the parts of a turn while they arrive. Private to this room.
 */
import type {
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResult,
  SharedV4ProviderMetadata
} from "@ai-sdk/provider"
import { Result } from "effect"
import type { JsonBounds } from "../../../src/value/BoundedJson.ts"
import { bounds_default, readJson } from "../../../src/value/BoundedJson.ts"
import { restoredNumbers } from "./JudgedAnswer.ts"
import type { Piece } from "./TurnParts.ts"
import type { AssistantPart } from "./OutputItems.ts"
import { isRecord, jsonText } from "./ProviderFound.ts"

const options = (metadata: SharedV4ProviderMetadata | undefined) =>
  metadata === undefined ? undefined : { providerOptions: metadata }

/** What the provider's own tool was called with; nothing where it cannot be read. */
const parsed = (text: string): unknown =>
  Result.getOrElse(readJson(restoredNumbers(text), bounds_ran), () => ({}))

/** What it was is the provider's to know; it goes back to no one else. */
const bounds_ran: JsonBounds = { ...bounds_default, inexact: "round" }

/** What a provider said before it paused, in the order of its parts, as its client takes it back: a turn goes on from there. */
export class AssistantParts {
  private readonly list: Array<() => AssistantPart> = []
  /** Of the uses so far. */
  private readonly ids = new Set<string>()

  wrote(type: "text" | "reasoning", piece: Piece): void {
    // The piece grows until it is asked for.
    this.list.push(() => ({ type, text: piece.text, ...options(piece.provider) }))
  }

  called({
    input,
    providerExecuted,
    providerMetadata,
    toolCallId,
    toolName
  }: LanguageModelV4ToolCall): AssistantPart | undefined {
    // A use before a pause is told again with its result.
    if (providerExecuted !== true || this.ids.has(toolCallId)) return
    this.ids.add(toolCallId)
    const part: AssistantPart = {
      type: "tool-call",
      toolCallId,
      toolName,
      input: parsed(input),
      providerExecuted,
      ...options(providerMetadata)
    }
    this.list.push(() => part)
    return part
  }

  gave({
    isError,
    providerMetadata,
    result,
    toolCallId,
    toolName
  }: LanguageModelV4ToolResult): AssistantPart {
    const part: AssistantPart = {
      type: "tool-result",
      toolCallId,
      toolName,
      output: { type: isError === true ? "error-json" : "json", value: result },
      ...options(providerMetadata)
    }
    this.list.push(() => part)
    return part
  }

  parts(): ReadonlyArray<AssistantPart> {
    return this.list.map((part) => part())
  }
}

type Input = Extract<LanguageModelV4StreamPart, { type: "tool-input-start" | "tool-input-delta" }>

/** The arguments of calls, until their call is closed. A call that is still open when the turn ends was cut. */
export class OpenInputs {
  private readonly inputs = new Map<
    string,
    { readonly name: string; readonly provider: boolean; text: string }
  >()
  /** The length of all arguments so far, in UTF-16 units. */
  units = 0

  take(part: Input): void {
    if (part.type === "tool-input-start") {
      const { id, providerExecuted, toolName } = part
      this.inputs.set(id, { name: toolName, provider: providerExecuted === true, text: "" })
      return
    }
    const input = this.inputs.get(part.id)
    if (input === undefined) return
    input.text += part.delta
    this.units += part.delta.length
  }

  /** Closes a call and returns the arguments that arrived in pieces; undefined = they did not arrive in pieces. */
  close(id: string): string | undefined {
    const text = this.inputs.get(id)?.text
    this.inputs.delete(id)
    return text
  }

  /**
   * The calls that were not closed, with the arguments that have arrived. Calls that the provider runs itself are not included.
   */
  open(): ReadonlyArray<LanguageModelV4ToolCall> {
    const calls: Array<LanguageModelV4ToolCall> = []
    for (const [toolCallId, { name, provider, text }] of this.inputs) {
      if (!provider) calls.push({ type: "tool-call", toolCallId, toolName: name, input: text })
    }
    this.inputs.clear()
    return calls
  }
}

const member = (value: unknown, ...names: ReadonlyArray<string>): unknown =>
  names.reduce((held: unknown, name) => (isRecord(held) ? held[name] : undefined), value)

/** Tools that Amazon's Nova ran by itself, of which Bedrock's client knows nothing: a use looks like a call of the agent's. */
export class NovaTools {
  /** Uses that are not the agent's, by id, with the name of their tool. */
  readonly #uses = new Map<string, string>()
  readonly #blocks = new Map<unknown, string>()

  isUse(id: string): boolean {
    return this.#uses.has(id)
  }

  /** A result that is in this event; undefined if there is none. */
  take(
    event: unknown
  ): { readonly id: string; readonly name: string; readonly result: string } | undefined {
    const start = member(event, "contentBlockStart", "start")
    const use = member(start, "toolUse")
    const id = member(use, "toolUseId") ?? member(start, "toolResult", "toolUseId")
    if (typeof id === "string") {
      if (member(use, "type") === "server_tool_use") {
        this.#uses.set(id, String(member(use, "name")))
      }
      if (use === undefined)
        this.#blocks.set(member(event, "contentBlockStart", "contentBlockIndex"), id)
      return undefined
    }
    const result = member(event, "contentBlockDelta", "delta", "toolResult")
    const of = this.#blocks.get(member(event, "contentBlockDelta", "contentBlockIndex"))
    return result === undefined || of === undefined
      ? undefined
      : { id: of, name: this.#uses.get(of) ?? "", result: jsonText(result) }
  }
}

/** Whether a client's error is only that it does not know a result of such a tool. */
export const isToolResult = (error: unknown): boolean =>
  member(error, "value", "contentBlockDelta", "delta", "toolResult") !== undefined
