/** The messages of a run as a client of AG-UI makes them of its events, without those that do not count. */
import type { RunId } from "../value/Ids.ts"
import { defined } from "../value/PlainObject.ts"
import type { AgUiFrame } from "./AgUiShapes.ts"

/** A message in the protocol's form. */
interface AgUiMessage {
  readonly id: string
  readonly role: "assistant" | "reasoning" | "tool"
  readonly subagentRunId?: string
  readonly toolCallId?: string
  readonly metadata?: unknown
  content?: string
  toolCalls?: Array<{ id: string; type: "function"; function: { name: string; arguments: string } }>
}

const textIn = (frame: AgUiFrame, name: string): string => String(frame[name] ?? "")

const ownerIn = ({ subagentRunId }: AgUiFrame) =>
  defined({ subagentRunId: typeof subagentRunId === "string" ? subagentRunId : undefined })

export class AgUiMessages {
  readonly #run: RunId
  readonly #all: Array<AgUiMessage> = []

  constructor(run: RunId) {
    this.#run = run
  }

  /** The messages that a client has, with this run's at the end in place of what it has of them. */
  behind(before: ReadonlyArray<unknown>): ReadonlyArray<unknown> {
    const prefix = `${this.#run}:`
    const isOwn = (message: unknown) =>
      textIn((message ?? {}) as AgUiFrame, "id").startsWith(prefix)
    return [...before.filter((message) => !isOwn(message)), ...this.#all]
  }

  #find(frame: AgUiFrame): AgUiMessage | undefined {
    return this.#all.findLast(({ id }) => id === frame["messageId"])
  }

  #call(frame: AgUiFrame) {
    const calls = this.#all.flatMap(({ toolCalls = [] }) => toolCalls)
    return calls.findLast(({ id }) => id === frame["toolCallId"])
  }

  /** Takes the next event. */
  add(frame: AgUiFrame): void {
    switch (frame.type) {
      case "TEXT_MESSAGE_START":
      case "REASONING_MESSAGE_START": {
        const role = frame.type === "TEXT_MESSAGE_START" ? "assistant" : "reasoning"
        this.#all.push({ id: textIn(frame, "messageId"), role, content: "", ...ownerIn(frame) })
        return
      }
      case "TEXT_MESSAGE_CONTENT":
      case "REASONING_MESSAGE_CONTENT": {
        const message = this.#find(frame)
        if (message !== undefined) message.content += textIn(frame, "delta")
        return
      }
      case "TEXT_MESSAGE_END":
      case "REASONING_MESSAGE_END": {
        const message = this.#find(frame)
        if (message !== undefined && frame["metadata"] !== undefined) {
          this.#all.splice(this.#all.indexOf(message), 1)
        }
        return
      }
      case "TOOL_CALL_START":
        return this.#called(frame)
      case "TOOL_CALL_ARGS": {
        const call = this.#call(frame)
        if (call !== undefined) call.function.arguments += textIn(frame, "delta")
        return
      }
      case "TOOL_CALL_RESULT":
        return this.#returned(frame)
      default:
    }
  }

  #called(frame: AgUiFrame): void {
    const id = textIn(frame, "parentMessageId")
    let message = this.#all.findLast((each) => each.id === id)
    if (message === undefined) {
      message = { id, role: "assistant", ...ownerIn(frame) }
      this.#all.push(message)
    }
    message.toolCalls ??= []
    message.toolCalls.push({
      id: textIn(frame, "toolCallId"),
      type: "function",
      function: { name: textIn(frame, "toolCallName"), arguments: "" }
    })
  }

  /** A result stands behind the message with its call, and behind the results that are there. */
  #returned(frame: AgUiFrame): void {
    const toolCallId = textIn(frame, "toolCallId")
    const result: AgUiMessage = {
      id: textIn(frame, "messageId"),
      role: "tool",
      toolCallId,
      content: textIn(frame, "content"),
      ...ownerIn(frame),
      ...defined({ metadata: frame["metadata"] })
    }
    const owner = this.#all.findIndex(({ toolCalls = [] }) =>
      toolCalls.some(({ id }) => id === toolCallId)
    )
    let at = owner === -1 ? this.#all.length : owner + 1
    while (this.#all[at]?.role === "tool") at++
    this.#all.splice(at, 0, result)
  }
}
