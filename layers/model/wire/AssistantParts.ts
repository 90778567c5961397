/**
 * What a provider said before it paused, in the order of its parts, as its client takes it back: a turn goes on from there.
 */
import type {
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResult,
  SharedV4ProviderMetadata
} from "@ai-sdk/provider"
import { Result } from "effect"
import type { JsonBounds } from "../../../src/value/BoundedJson.ts"
import { bounds_default, readJson } from "../../../src/value/BoundedJson.ts"
import { restoredNumbers } from "./ArgumentNumbers.ts"
import type { Piece } from "./TurnParts.ts"
import type { AssistantPart } from "./AssistantPart.ts"

const options = (metadata: SharedV4ProviderMetadata | undefined) =>
  metadata === undefined ? undefined : { providerOptions: metadata }

/** What the provider's own tool was called with; nothing where it cannot be read. */
const parsed = (text: string): unknown =>
  Result.getOrElse(readJson(restoredNumbers(text), bounds_ran), () => ({}))

/** What it was is the provider's to know; it goes back to no one else. */
const bounds_ran: JsonBounds = { ...bounds_default, inexact: "round" }

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
