/**
 * Histories of other systems, read as exchanges: what a person said, and what was answered. Only their texts are taken. Calls and
 * results of tools are claims of a stranger here, and system messages are not this service's instructions: both are left out and
 * counted, so that no model takes them for what a tool gave or an application said.
 */
import { Result, Schema } from "effect"
import { InvalidInput } from "../schema/InvalidInput.ts"
import { isBeyondBytes } from "../value/CutText.ts"
import { isObject } from "../value/PlainObject.ts"
import { message_bytes_max } from "./Conversation.ts"

/**
 * `ai-sdk`: the UIMessages of the Vercel AI SDK. `chat-completions`: messages of such an API, and items of OpenAI Agents'
 * sessions. `langchain`: messages of LangChain and LangGraph: plain (`type`, `content`), stored (`type`, `data`) and serialised
 * (`lc`, `id`, `kwargs`).
 */
export const HistoryFormat = Schema.Literals(["ai-sdk", "chat-completions", "langchain"])
export type HistoryFormat = typeof HistoryFormat.Type

/** The most messages of one history. */
export const history_messages_max = 1_000

/** How many of each were not taken. `other`: reasoning, sources, and whatever has another name. */
export const LeftOut = Schema.Struct({
  system: Schema.Int,
  tool_calls: Schema.Int,
  tool_results: Schema.Int,
  files: Schema.Int,
  other: Schema.Int
})
type Kind = keyof typeof LeftOut.Type

/** A message and what was answered to it; either may be empty, not both. */
export interface Exchange {
  readonly message: string
  readonly answer: string
}

export interface ReadHistory {
  readonly exchanges: ReadonlyArray<Exchange>
  readonly left_out: typeof LeftOut.Type
}

type Role = "user" | "assistant" | "system" | "tool" | "other"
type Json = Readonly<Record<string, unknown>>

class Misread {
  readonly path: string
  readonly reason: string
  constructor(path: string, reason: string) {
    this.path = path
    this.reason = reason
  }
}

/** What is read of one message. */
interface Said {
  /** `other`: it says nothing, or takes another message back. `call`: it is a call of a tool. */
  readonly role: Role | "call"
  readonly text: string
}

type Count = (kind: Kind, more?: number) => void

const isText = (value: unknown): value is string => typeof value === "string"
const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0)

const object = (value: unknown, path: string): Json | Misread =>
  isObject(value) ? value : new Misread(path, "it has to be an object")

const roleOf = (value: unknown, path: string, roles: Readonly<Record<string, Role>>) =>
  isText(value) && Object.hasOwn(roles, value)
    ? (roles[value] as Role)
    : new Misread(path, `it has to be one of ${Object.keys(roles).join(", ")}`)

/** The texts of a list of blocks. `read`: the text of a block, or the kind that it counts as; undefined = it counts as nothing. */
const joined = (
  blocks: ReadonlyArray<unknown>,
  path: string,
  count: Count,
  read: (block: Json, type: string) => string | { readonly kind: Kind | undefined } | Misread
): string | Misread => {
  const texts: Array<string> = []
  for (const [index, each] of blocks.entries()) {
    const at = `${path}.${index}`
    if (isText(each)) {
      texts.push(each)
      continue
    }
    const block = object(each, at)
    if (block instanceof Misread) return block
    const { type } = block
    if (!isText(type)) return new Misread(`${at}.type`, "it has to be a text")
    const said = read(block, type)
    if (said instanceof Misread) return new Misread(`${at}.${said.path}`, said.reason)
    if (isText(said)) texts.push(said)
    else if (said.kind !== undefined) count(said.kind)
  }
  return texts.join("\n")
}

const textIn = (block: Json, name: string): string | Misread => {
  const text = block[name]
  return isText(text) ? text : new Misread(name, "it has to be a text")
}

const files = /^(?:file|image|image_url|input_image|audio|input_audio|video|media)$/

const uiRoles = { user: "user", assistant: "assistant", system: "system" } as const

const fromAiSdk = (message: Json, count: Count): Said | Misread => {
  const role = roleOf(message["role"], "role", uiRoles)
  if (role instanceof Misread) return role
  const { parts } = message
  if (!Array.isArray(parts))
    return new Misread("parts", "it has to be a list: a UIMessage has parts")
  const text = joined(parts, "parts", count, (part, type) => {
    if (type === "text") return textIn(part, "text")
    if (type === "dynamic-tool" || type.startsWith("tool-")) {
      const { state } = part
      if (isText(state) && state.startsWith("output-")) count("tool_results")
      return { kind: "tool_calls" }
    }
    return { kind: type === "step-start" ? undefined : files.test(type) ? "files" : "other" }
  })
  return text instanceof Misread ? text : { role, text }
}

/** The text of `content`: a text, a list of blocks, or nothing. It may be absent only where the message has something else to say. */
const contentOf = (
  content: unknown,
  count: Count,
  hasCalls: boolean,
  mayLack: boolean
): string | Misread => {
  if (isText(content)) return content
  if (content === undefined && !mayLack) return new Misread("content", "it is missing")
  if (content === null || content === undefined) return ""
  if (!Array.isArray(content))
    return new Misread("content", "it has to be a text, a list of parts, or null")
  return joined(content, "content", count, (part, type) => {
    if (type === "text" || type === "input_text" || type === "output_text")
      return textIn(part, "text")
    if (type === "refusal") return textIn(part, "refusal")
    // Beside `tool_calls` it says the same again.
    if (type === "tool_use" || type === "tool_call")
      return { kind: hasCalls ? undefined : "tool_calls" }
    return { kind: files.test(type) ? "files" : "other" }
  })
}

const chatRoles = {
  user: "user",
  assistant: "assistant",
  system: "system",
  developer: "system",
  tool: "tool",
  function: "tool"
} as const

/** What an item without a role is that stands beside the messages of a session; undefined = nobody knows. */
const roleOfItem = ({ role, type }: Json): Said["role"] | undefined => {
  if (role !== undefined || !isText(type)) return undefined
  if (type.endsWith("_call")) return "call"
  if (/_(?:result|output)$/.test(type)) return "tool"
  return type === "reasoning" || type === "compaction" ? "other" : undefined
}

const fromChatCompletions = (message: Json, count: Count): Said | Misread => {
  const beside = roleOfItem(message)
  if (beside !== undefined) return { role: beside, text: "" }
  const role = roleOf(message["role"], "role", chatRoles)
  if (role instanceof Misread) return role
  const { content, function_call, refusal, tool_calls } = message
  const calls = lengthOf(tool_calls)
  const isCalling = calls > 0 || isObject(function_call)
  count("tool_calls", calls + (isObject(function_call) ? 1 : 0))
  const mayLack = role !== "user" && (role !== "assistant" || isCalling || isText(refusal))
  const text = contentOf(content, count, calls > 0, mayLack)
  if (text instanceof Misread) return text
  return { role, text: text === "" && isText(refusal) ? refusal : text }
}

const langRoles = {
  human: "user",
  user: "user",
  ai: "assistant",
  assistant: "assistant",
  system: "system",
  developer: "system",
  tool: "tool",
  function: "tool",
  remove: "other"
} as const

/** The class of a serialised message, such as `HumanMessage` or `AIMessageChunk`, as the type that it has elsewhere. */
const typeOfClass = (name: string): string => name.replace(/Message(?:Chunk)?$/, "").toLowerCase()

/** The type of a message of LangChain, its members, and where these stand. */
const unwrapped = (
  message: Json
): readonly [type: unknown, members: Json, at: string] | Misread => {
  if (message["lc"] !== undefined) {
    const { id } = message
    const name: unknown = Array.isArray(id) ? id.at(-1) : undefined
    const kwargs = object(message["kwargs"], "kwargs")
    if (kwargs instanceof Misread) return kwargs
    return isText(name)
      ? [typeOfClass(name), kwargs, "kwargs."]
      : new Misread("id", "it has to be a list that ends with the class of a message")
  }
  const type = message["type"] ?? message["role"]
  if (message["data"] === undefined) return [isText(type) ? typeOfClass(type) : type, message, ""]
  const data = object(message["data"], "data")
  return data instanceof Misread ? data : [type, data, "data."]
}

const fromLangChain = (message: Json, count: Count): Said | Misread => {
  const found = unwrapped(message)
  if (found instanceof Misread) return found
  const [type, members, at] = found
  const named = type === "chat" || type === "generic" ? members["role"] : type
  const field = message["lc"] !== undefined ? "id" : message["type"] === undefined ? "role" : "type"
  const role = roleOf(named, field, langRoles)
  if (role instanceof Misread) return role
  const calls = lengthOf(members["tool_calls"])
  count("tool_calls", calls)
  const mayLack = role !== "user" && (role !== "assistant" || calls > 0)
  const text = contentOf(members["content"], count, calls > 0, mayLack)
  return text instanceof Misread ? new Misread(`${at}${text.path}`, text.reason) : { role, text }
}

const readers = {
  "ai-sdk": fromAiSdk,
  "chat-completions": fromChatCompletions,
  langchain: fromLangChain
} as const

/** Reads a history. Fails with InvalidInput at the first message of another shape, such as at `messages.3.role`. */
export const readHistory = (
  format: HistoryFormat,
  messages: ReadonlyArray<unknown>
): Result.Result<ReadHistory, InvalidInput> => {
  const left_out = { system: 0, tool_calls: 0, tool_results: 0, files: 0, other: 0 }
  const count: Count = (kind, more = 1) => {
    left_out[kind] += more
  }
  const refused = (field: string, reason: string) =>
    Result.fail(new InvalidInput({ field, reason }))
  const exchanges: Array<{ message: string; answer: string }> = []
  for (const [index, each] of messages.entries()) {
    const field = `messages.${index}`
    const said = isObject(each)
      ? readers[format](each, count)
      : new Misread("", "it has to be a message")
    if (said instanceof Misread) {
      return refused(
        said.path === "" ? field : `${field}.${said.path}`,
        `${said.reason} (format "${format}")`
      )
    }
    const { role, text } = said
    if (role === "tool") count("tool_results")
    else if (role === "call") count("tool_calls")
    else if (role === "system" || role === "other") count(role)
    else if (text.trim() !== "") {
      const last = exchanges.at(-1)
      if (role === "user") exchanges.push({ message: text, answer: "" })
      else if (last === undefined) exchanges.push({ message: "", answer: text })
      else last.answer = last.answer === "" ? text : `${last.answer}\n\n${text}`
      const longest = exchanges.at(-1)
      if (
        isBeyondBytes(longest?.message ?? "", message_bytes_max) ||
        isBeyondBytes(longest?.answer ?? "", message_bytes_max)
      ) {
        return refused(
          field,
          `its text makes more than ${message_bytes_max} bytes of UTF-8, with the answers before it`
        )
      }
    }
  }
  return exchanges.length === 0
    ? refused("messages", "no message of a user or an assistant in it has a text")
    : Result.succeed({ exchanges, left_out })
}
