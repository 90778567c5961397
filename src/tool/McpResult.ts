/**
 * Converts an MCP server's result into a value: its structured content if there is any, else its content as one text, in which
 * everything that is not text is replaced by a description.
 */
import { truncateUnits } from "../CutText.ts"
import type { FileInput } from "../conversation/Part.ts"
import type { Json } from "../Canonical.ts"

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

/** The number of bytes that base64 data stands for. */
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
      return `[content of the type ${truncateUnits(text(block["type"], "unknown"), 64)}, not shown]`
  }
}

const nothing: ReadonlySet<unknown> = new Set()

/** All content as one text. `attached` are the blocks that are attached as files. */
export const contentText = (
  result: McpCallResult,
  attached: ReadonlySet<unknown> = nothing
): string =>
  Array.isArray(result.content)
    ? result.content.map((block) => blockText(block, attached)).join("\n")
    : ""

/** The value of a result that the server marks as a success. */
export const resultValue = (result: McpCallResult, attached?: ReadonlySet<unknown>): Json =>
  result.structuredContent === undefined
    ? contentText(result, attached)
    : (result.structuredContent as Json)
