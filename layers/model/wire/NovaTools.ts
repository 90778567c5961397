/**
 * Tools that Amazon's Nova runs by itself, of which Bedrock's client knows nothing: their use looks like a call of the agent's, and
 * what came of it like a broken event. Both are read from the events as they came. Private to this room.
 */
import { isRecord, jsonText } from "./ProviderFound.ts"

const member = (value: unknown, ...names: ReadonlyArray<string>): unknown =>
  names.reduce((held: unknown, name) => (isRecord(held) ? held[name] : undefined), value)

/** The events of one answer. */
export class NovaTools {
  /** Uses that are not the agent's, by id, with the name of their tool. */
  readonly #uses = new Map<string, string>()
  /** Which use the result in a block is of. */
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
