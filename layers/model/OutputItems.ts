/**
 * What a Responses API ran by itself, as items of its answer. OpenAI's and xAI's APIs take these back whole; their clients
 * send few of them or none. So an item is kept as the wire had it, stands in the prompt as a text that nobody else can write,
 * and takes that text's place in the body of the request.
 */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider"
import type { ProviderToolName } from "../../src/agent/ProviderTools.ts"
import { isRecord, jsonText } from "./ProviderFound.ts"
import type { RanTool } from "./ProviderTools.ts"

/** The kind of a part of a turn that has such an item. */
export const item_part_kind = "troupe.item"

export type OutputItem = Readonly<Record<string, unknown>>

const tools: Readonly<Record<string, ProviderToolName>> = {
  web_search_call: "web_search",
  code_interpreter_call: "code_execution",
  file_search_call: "file_search",
  mcp_call: "mcp"
}

/** Which tool an item is of; undefined = it is none that a provider ran. */
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

/** What ran, by id, of one event of a stream. */
export const itemOfEvent = (event: unknown): ReturnType<typeof ranItem> =>
  isRecord(event) && event["type"] === "response.output_item.done" ? ranItem(event["item"]) : []

/** What ran, by id, of a whole answer. */
export const itemsOfAnswer = (answer: unknown): ReturnType<typeof ranItem> => {
  const output = isRecord(answer) ? answer["output"] : undefined
  return Array.isArray(output) ? output.flatMap(ranItem) : []
}

/** Begins the texts that stand for items; no model is ever sent it. */
const mark = `troupe.item ${globalThis.crypto.randomUUID()} `

type AssistantPart = Extract<
  LanguageModelV4Prompt[number],
  { role: "assistant" }
>["content"][number]

export const standIn = (item: unknown): AssistantPart => ({
  type: "text",
  text: `${mark}${jsonText(item)}`
})

/** The request with the items in the places of the texts that stand for them. */
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
