/**
 * A model request as the prompt and tools of a provider's client. Plain and total: whatever a transcript holds, every call
 * in the prompt has an id of its own and exactly one result.
 */
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions
} from "@ai-sdk/provider"
import type { ModelRequest, ModelTool } from "../../services/ModelGateway.ts"
import { resultText } from "../../src/conversation/Transcript.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import type { Reasoning } from "../../src/run/RunEvent.ts"

type AssistantEntry = Extract<TranscriptEntry, { role: "assistant" }>
type ToolEntry = Extract<TranscriptEntry, { role: "tool" }>
type AssistantMessage = Extract<LanguageModelV4Message, { role: "assistant" }>

/** The part's metadata goes back as it came; what is not an object of objects never came from a client. */
const optionsOf = (part: Reasoning): { providerOptions?: SharedV4ProviderOptions } =>
  typeof part.provider === "object" && part.provider !== null && !Array.isArray(part.provider)
    ? { providerOptions: part.provider as SharedV4ProviderOptions }
    : {}

/** A call's place in its turn, from its id `frame/step.index`. */
const indexOf = (entry: ToolEntry): number =>
  Number(entry.call.slice(entry.call.lastIndexOf(".") + 1))

const unanswered = "cancelled: this call did not run."

/** Builds the messages in order; `pending` are the calls of the last turn, by place, that have no result yet. */
class PromptBuilder {
  readonly messages: LanguageModelV4Prompt = []
  private readonly ids = new Set<string>()
  private pending = new Map<number, { readonly id: string; readonly name: string }>()
  private results: Array<LanguageModelV4ToolResultPart> = []

  add(entry: TranscriptEntry): void {
    switch (entry.role) {
      case "user":
        this.close()
        this.messages.push({ role: "user", content: [{ type: "text", text: entry.text }] })
        return
      case "assistant":
        this.close()
        this.assistant(entry)
        return
      case "tool":
        this.result(entry)
    }
  }

  /** Ends a step: a call without a result gets one, because a provider refuses a prompt that lacks it. */
  close(): void {
    for (const { id, name } of this.pending.values()) {
      this.results.push(result(id, name, { type: "error-text", value: unanswered }))
    }
    if (this.results.length > 0) this.messages.push({ role: "tool", content: this.results })
    this.pending = new Map()
    this.results = []
  }

  private assistant(entry: AssistantEntry): void {
    const content: AssistantMessage["content"] = []
    for (const part of entry.reasoning ?? []) {
      content.push({ type: "reasoning", text: part.text, ...optionsOf(part) })
    }
    if (entry.text !== "" || (entry.calls.length === 0 && content.length === 0)) {
      content.push({ type: "text", text: entry.text })
    }
    for (const [index, call] of entry.calls.entries()) {
      const id = this.unique(call.model_id)
      this.pending.set(index, { id, name: call.name })
      content.push({
        type: "tool-call",
        toolCallId: id,
        toolName: call.name,
        // Arguments that were not JSON cannot go back as JSON; the call's result says what was wrong.
        input: call.malformed === undefined ? call.arguments : {}
      })
    }
    this.messages.push({ role: "assistant", content })
  }

  /** A model's own ids may repeat from turn to turn; in a prompt they must not. */
  private unique(wanted: string): string {
    const base = wanted === "" ? "call" : wanted
    let id = base
    for (let n = 2; this.ids.has(id); n++) id = `${base}_${n}`
    this.ids.add(id)
    return id
  }

  private result(entry: ToolEntry): void {
    const index = indexOf(entry)
    const call = this.pending.get(index)
    // The past is cut to a token budget, and the cut may fall between a call and its result.
    if (call === undefined) return
    this.pending.delete(index)
    const value = resultText(entry)
    this.results.push(
      result(call.id, call.name, {
        type: entry.outcome._tag === "Value" ? "text" : "error-text",
        value
      })
    )
  }
}

const result = (
  toolCallId: string,
  toolName: string,
  output: LanguageModelV4ToolResultPart["output"]
): LanguageModelV4ToolResultPart => ({ type: "tool-result", toolCallId, toolName, output })

/** System text, history and transcript as one prompt. Linear in their length. */
export const toPrompt = (
  request: Pick<ModelRequest, "system" | "history" | "transcript">
): LanguageModelV4Prompt => {
  const builder = new PromptBuilder()
  if (request.system !== "") builder.messages.push({ role: "system", content: request.system })
  for (const entry of request.history) builder.add(entry)
  // A new run: what the last one left open has no result to come.
  builder.close()
  for (const entry of request.transcript) builder.add(entry)
  builder.close()
  return builder.messages
}

export const toTools = (tools: ReadonlyArray<ModelTool>): Array<LanguageModelV4FunctionTool> =>
  tools.map((tool) => ({
    type: "function",
    name: tool.name,
    description: tool.description,
    inputSchema: tool.input_schema
  }))
