/**
 * Converts an MCP server's result into a value: its content as one text, in which everything that is not text is replaced by a
 * description, or its structured content, or both where the content says more than the structured content does.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import { canonical } from "../value/Canonical.ts"
import { truncateUnits } from "../value/CutText.ts"
import { parseExactly } from "../value/JsonText.ts"
import type { FileInput } from "../conversation/Part.ts"

/** The answer to `tools/call`. Only that it is an object has been checked. */
export interface McpCallResult {
  readonly content?: unknown
  readonly structuredContent?: unknown
  readonly isError?: unknown
}

type Block = Readonly<Record<string, unknown>>

const isBlock = (value: unknown): value is Block => typeof value === "object" && value !== null

const text = (value: unknown, otherwise: string): string =>
  typeof value === "string" ? truncateUnits(value, 1_000) : otherwise

const bytesOf = (data: unknown): number =>
  typeof data === "string" ? Math.floor((data.replace(/=+$/, "").length * 3) / 4) : 0

const media = (kind: string, block: Block, isAttached: boolean): string =>
  `[${kind} ${text(block["mimeType"], "of an unknown type")}, ${bytesOf(block["data"])} bytes, ${isAttached ? "attached" : "not shown"}]`

/** The images and audio of a result, each with its content block. */
export const mediaOf = (
  result: McpCallResult
): ReadonlyArray<{ readonly block: unknown; readonly file: FileInput }> => {
  const found: Array<{ readonly block: unknown; readonly file: FileInput }> = []
  for (const block of Array.isArray(result.content) ? result.content : []) {
    if (!isBlock(block) || (block["type"] !== "image" && block["type"] !== "audio")) continue
    const { data, mimeType, type } = block
    if (typeof data !== "string" || typeof mimeType !== "string") continue
    found.push({ block, file: { type, media_type: mimeType.toLowerCase(), data } })
  }
  return found
}

const resource = (value: unknown): string => {
  if (!isBlock(value)) return "[resource that cannot be read]"
  const uri = text(value["uri"], "without a URI")
  return typeof value["text"] === "string"
    ? `[resource ${uri}]\n${value["text"]}`
    : `[resource ${uri}, ${text(value["mimeType"], "of an unknown type")}, ${bytesOf(value["blob"])} bytes, not shown]`
}

const blockText = (block: unknown, attached: ReadonlySet<unknown>): string => {
  if (!isBlock(block)) return "[content that cannot be read]"
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? block["text"] : ""
    case "image":
    case "audio":
      return media(block["type"], block, attached.has(block))
    case "resource":
      return resource(block["resource"])
    case "resource_link":
      return `[link to resource ${text(block["uri"], "without a URI")}: ${text(block["name"], "without a name")}]`
    default:
      return unknownBlock(block)
  }
}

/** The description of a block of a type that nobody knows, or that is not as its type says. */
export const unknownBlock = (block: unknown): string =>
  isBlock(block)
    ? `[content of the type ${truncateUnits(text(block["type"], "unknown"), 64)}, not shown]`
    : "[content that cannot be read]"

const nothing: ReadonlySet<unknown> = new Set()

/** All content as one text. `attached` are the blocks that are attached as files. */
export const contentText = (
  result: McpCallResult,
  attached: ReadonlySet<unknown> = nothing
): string =>
  Array.isArray(result.content)
    ? result.content.map((block) => blockText(block, attached)).join("\n")
    : ""

/** How deep the values are that content may repeat: all of it, its members, and the items of these. */
const repeated_levels = 2

/** Says of a text whether it repeats a value of the structured content, as it is or as JSON, as the protocol advises servers. */
const repetition = (structured: Json): ((text: string) => boolean) => {
  const known = new Set<string>()
  const add = (value: Json, levels: number): void => {
    if (typeof value === "string") known.add(value.trim())
    known.add(canonical(value))
    if (levels === 0 || typeof value !== "object" || value === null) return
    for (const member of Object.values(value)) add(member as Json, levels - 1)
  }
  add(structured, repeated_levels)
  return (text) => {
    if (known.has(text.trim())) return true
    const read = Result.try(() => canonical(parseExactly(text) as Json))
    return Result.isSuccess(read) && known.has(read.success)
  }
}

const contentBeside = (
  { content, structuredContent }: McpCallResult,
  attached: ReadonlySet<unknown>
): string => {
  if (!Array.isArray(content)) return ""
  const isRepeated = repetition(structuredContent as Json)
  const more = content.filter(
    (block) =>
      !(isBlock(block) && block["type"] === "text" && isRepeated(blockText(block, attached)))
  )
  const said = contentText({ content: more }, attached)
  return said.trim() === "" ? "" : said
}

interface Both {
  readonly structuredContent: Json
  readonly content: string
}

const isBoth = (value: unknown): value is Both =>
  isBlock(value) &&
  Object.keys(value).length === 2 &&
  "structuredContent" in value &&
  typeof value["content"] === "string"

/** The value of a success. Structured content and more than it says are two members, with the protocol's names. */
export const resultValue = (
  result: McpCallResult,
  attached: ReadonlySet<unknown> = nothing
): Json => {
  if (result.structuredContent === undefined) return contentText(result, attached)
  const structuredContent = result.structuredContent as Json
  const content = contentBeside(result, attached)
  return content === "" && !isBoth(structuredContent)
    ? structuredContent
    : { structuredContent, content }
}

/** The part of such a value that the tool's outputSchema describes. */
export const describedPart = (value: unknown): unknown =>
  isBoth(value) ? value.structuredContent : value

/** The reason of a result that the server marks as an error; empty if it says none. */
export const errorText = (result: McpCallResult): string => {
  if (result.structuredContent === undefined) return contentText(result).trim()
  const content = contentBeside(result, nothing).trim()
  const structured = JSON.stringify(result.structuredContent)
  return content === "" ? structured : `${content}\n${structured}`
}
