/**
 * Corrects lines of events, and whole answers, that a provider's client refuses or drops although their meaning is plain: counts
 * that Gemini leaves out because they are zero, the text of reasoning in the content of Responses, and an MCP result of Anthropic's
 * whose call came before a pause. What is not known passes unchanged. Private to this room.
 */
import { isRecord } from "./ProviderFound.ts"

/** Parses a text whose bounds were checked; undefined if it is malformed. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Applies `fix` to each line of a stream, as the line ends. Each piece is scanned once, however many a line spans. */
export const byLine = (fix: (line: string) => string): TransformStream<string, string> => {
  let pieces: Array<string> = []
  return new TransformStream({
    transform(text, controller) {
      const lines = text.split("\n")
      const rest = lines.pop() ?? ""
      const [first] = lines
      if (first !== undefined) {
        lines[0] = pieces.join("") + first
        pieces = []
        controller.enqueue(lines.map((line) => `${fix(line)}\n`).join(""))
      }
      pieces.push(rest)
    },
    flush(controller) {
      const line = pieces.join("")
      if (line !== "") controller.enqueue(fix(line))
    }
  })
}

/** Gemini's JSON has no member for a zero. Inside a string the quotes are escaped, so a text about it does not match. */
export const withZeros = (json: string): string =>
  json
    .replace(/(\{\s*"modality"\s*:\s*"[A-Z_]+"\s*)\}/g, '$1,"tokenCount":0}')
    .replace(/("retrievalMetadata"\s*:\s*\{)\s*\}/g, '$1"webDynamicRetrievalScore":0}')

/** A use of an MCP server that a client wants to have seen before its result. Its name is that of the use before the pause. */
const useOf = (result: Readonly<Record<string, unknown>>) => ({
  type: "mcp_tool_use",
  id: result["tool_use_id"],
  name: "mcp",
  server_name: "mcp",
  input: {}
})

const isResult = (block: unknown): block is Readonly<Record<string, unknown>> =>
  isRecord(block) && block["type"] === "mcp_tool_result"

/** The correction of one stream's lines: of Responses and of Anthropic. */
export const wireLines = (): ((line: string) => string) => {
  const uses = new Set<unknown>()
  return (line) => {
    if (!line.startsWith("data:")) return line
    if (/"type"\s*:\s*"response\.reasoning_text\.delta"/.test(line)) {
      return line
        .replace(/"response\.reasoning_text\.delta"/, '"response.reasoning_summary_text.delta"')
        .replace(/"content_index"\s*:/, '"summary_index":')
    }
    if (!/"type"\s*:\s*"mcp_tool_(use|result)"/.test(line)) return line
    const event = parsed(line.slice("data:".length))
    const block = isRecord(event) ? event["content_block"] : undefined
    if (!isRecord(block)) return line
    if (!isResult(block)) uses.add(block["id"])
    if (!isResult(block) || uses.has(block["tool_use_id"])) return line
    uses.add(block["tool_use_id"])
    return `data: ${JSON.stringify({ ...(event as object), content_block: useOf(block) })}\n\n${line}`
  }
}

/** An item of reasoning with its text as the summary, which is what the client reads. */
const withSummary = (item: unknown): unknown => {
  if (!isRecord(item) || item["type"] !== "reasoning") return item
  const { content, summary } = item
  if (!Array.isArray(content) || (Array.isArray(summary) && summary.length > 0)) return item
  const texts = content.flatMap((part: unknown) =>
    isRecord(part) && typeof part["text"] === "string"
      ? [{ type: "summary_text", text: part["text"] }]
      : []
  )
  return { ...item, summary: texts }
}

/** The same of a whole answer. */
export const wholeWire = (text: string): string => {
  if (!/"reasoning_text"|"mcp_tool_result"/.test(text)) return text
  const body = parsed(text)
  if (!isRecord(body)) return text
  const { content, output } = body
  if (Array.isArray(output)) return JSON.stringify({ ...body, output: output.map(withSummary) })
  if (!Array.isArray(content)) return text
  const uses = new Set(content.map((block: unknown) => (isRecord(block) ? block["id"] : undefined)))
  const blocks = content.flatMap((block: unknown) =>
    isResult(block) && !uses.has(block["tool_use_id"]) ? [useOf(block), block] : [block]
  )
  return JSON.stringify({ ...body, content: blocks })
}
