/**
 * Keeps the output items of tools that a Responses API ran by itself. OpenAI's and xAI's APIs accept these items only complete,
 * but their clients send back few of them or none. So an item is kept as it was received; in the prompt, a text that nobody else
 * can write stands for it, and in the body of the request the item replaces that text.
 */
import type { ProviderToolName } from "../../../src/agent/ProviderTools.ts"
import { isRecord, jsonText } from "./ProviderFound.ts"
import type { RanTool } from "./ProviderToolRequests.ts"
import type { LanguageModelV4Message } from "@ai-sdk/provider"

export type AssistantPart = Extract<
  LanguageModelV4Message,
  { role: "assistant" }
>["content"][number]

export const item_part_kind = "troupe.item"

export type OutputItem = Readonly<Record<string, unknown>>

const tools: Readonly<Record<string, ProviderToolName>> = {
  web_search_call: "web_search",
  code_interpreter_call: "code_execution",
  file_search_call: "file_search",
  mcp_call: "mcp"
}

/** The tool of an item; undefined = the item is not of a tool that a provider ran. */
export const toolOfItem = (item: unknown): RanTool | undefined => {
  if (!isRecord(item) || typeof item["type"] !== "string") return undefined
  const name = Object.hasOwn(tools, item["type"]) ? tools[item["type"]] : undefined
  const server = item["server_label"]
  return name && { name, ...(typeof server === "string" ? { server } : undefined) }
}

const ranItem = (item: unknown): ReadonlyArray<readonly [id: string, item: OutputItem]> =>
  isRecord(item) && toolOfItem(item) !== undefined && typeof item["id"] === "string"
    ? [[item["id"], item]]
    : []

/** The item, by its id, in one event of a stream. */
export const itemOfEvent = (event: unknown): ReturnType<typeof ranItem> =>
  isRecord(event) && event["type"] === "response.output_item.done" ? ranItem(event["item"]) : []

export const itemsOfAnswer = (answer: unknown): ReturnType<typeof ranItem> => {
  const output = isRecord(answer) ? answer["output"] : undefined
  return Array.isArray(output) ? output.flatMap(ranItem) : []
}

/** The status of an answer of Responses that is not there yet; undefined of any other answer. */
export const waitingStatus = (answer: unknown): string | undefined => {
  const status = isRecord(answer) && Array.isArray(answer["output"]) ? answer["status"] : undefined
  return status === "queued" || status === "in_progress" ? status : undefined
}

/** The beginning of the texts that stand for items. It is never sent to a model. */
const mark = `troupe.item ${globalThis.crypto.randomUUID()} `

export const standIn = (item: unknown): AssistantPart => ({
  type: "text",
  text: `${mark}${jsonText(item)}`
})

/** The request with each such text replaced by its item. */
export const withItems = (init: RequestInit | undefined): RequestInit | undefined => {
  const sent = init?.body
  if (typeof sent !== "string" || !sent.includes(mark)) return init
  const body = JSON.parse(sent) as { readonly input: ReadonlyArray<{ content?: unknown }> }
  const input = body.input.map((item): unknown =>
    typeof item.content === "string" && item.content.startsWith(mark)
      ? JSON.parse(item.content.slice(mark.length))
      : item
  )
  return { ...init, body: JSON.stringify({ ...body, input }) }
}
