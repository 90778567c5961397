/**
 * Arguments of calls as they come, until their call is closed: what is open when a turn ends was cut.
 */
import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall } from "@ai-sdk/provider"

type Input = Extract<LanguageModelV4StreamPart, { type: "tool-input-start" | "tool-input-delta" }>

export class OpenInputs {
  private readonly inputs = new Map<
    string,
    { readonly name: string; readonly provider: boolean; text: string }
  >()
  /** Of all arguments so far, in UTF-16 units. */
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

  /** What came of the call's arguments; undefined = it came at once. */
  close(id: string): string | undefined {
    const text = this.inputs.get(id)?.text
    this.inputs.delete(id)
    return text
  }

  /** The calls that nobody closed, with what there is of their arguments. What the provider runs itself is none. */
  open(): ReadonlyArray<LanguageModelV4ToolCall> {
    const calls: Array<LanguageModelV4ToolCall> = []
    for (const [toolCallId, { name, provider, text }] of this.inputs) {
      if (!provider) calls.push({ type: "tool-call", toolCallId, toolName: name, input: text })
    }
    this.inputs.clear()
    return calls
  }
}
