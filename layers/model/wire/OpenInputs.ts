/**
 * Collects the arguments of calls as they arrive, until their call is closed. A call that is still open when the turn ends was
 * cut.
 */
import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall } from "@ai-sdk/provider"

type Input = Extract<LanguageModelV4StreamPart, { type: "tool-input-start" | "tool-input-delta" }>

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
