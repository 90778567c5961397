/**
 * Corrects what the provider's client would refuse or drop although its meaning is plain. Of chat completions: a whole answer to a
 * request for a stream, a stream that ends with `[DONE]` without a finish reason, several choices in one stream, usage in a vendor's
 * field, and arguments that are objects. Of other wires: counts that Gemini leaves out because they are zero, the text of reasoning
 * in the content of Responses, and an MCP result of Anthropic's whose call came before a pause. An unknown form passes through
 * unchanged, and the client decides about it. So lines of a stream are corrected one by one and not parsed as events, which would
 * also complete a stream that was cut. All bodies were checked against their bounds before.
 */
import { encoder } from "effect/encoding/Sse"
import type { Known } from "./JudgedAnswer.ts"
import { boundedBody, judgedBody, kindOf, leavable } from "./JudgedAnswer.ts"
import { withItems } from "./OutputItems.ts"
import { isRecord, record } from "./ProviderFound.ts"

/** Gemini's JSON has no member for a zero. Inside a string the quotes are escaped, so a text about it does not match. */
const withZeros = (json: string): string =>
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

/** The correction of one stream's lines of Responses and of Anthropic. */
const wireLines = (): ((line: string) => string) => {
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
const wholeWire = (text: string): string => {
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

/** Names a kept answer in the headers of the request that takes it; it never leaves the process. */
const whole_answer_header = "x-troupe-whole-answer"

/** Answers wait here for the moment between two calls of a client; beyond so many the oldest is lost. */
const waiting_max = 100

const waiting = new Map<string, Response>()
let counted = 0

/** Thrown through a client of streams, which then reads it as the answer to a request for a whole one: nobody is asked twice. */
export class WholeAnswer extends Error {
  override readonly name = "WholeAnswer"
  /** Send these with the request for a whole answer: it gets this one. */
  readonly headers: Readonly<Record<string, string>>

  constructor(answer: Response) {
    super("a whole answer to a request for a stream")
    const id = String(++counted)
    this.headers = { [whole_answer_header]: id }
    waiting.set(id, answer)
    if (waiting.size <= waiting_max) return
    for (const oldest of waiting.keys()) {
      waiting.delete(oldest)
      break
    }
  }
}

/** The stored answer that a request names in its header; undefined = the request must be sent. */
const wholeAnswerFor = (init: RequestInit | undefined): Response | undefined => {
  const id = new Headers(init?.headers).get(whole_answer_header)
  if (id === null) return undefined
  const answer = waiting.get(id)
  waiting.delete(id)
  return answer
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The finish reason for a stream that gave none. The client maps it to `other`. */
export const unstated_finish = "unstated"

/** Arguments that are objects become text; absent ones stay absent. */
const callsOf = (message: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const calls = message["tool_calls"]
  if (!Array.isArray(calls)) return message
  return {
    ...message,
    tool_calls: calls.map((call) => {
      const made = record(call)["function"]
      const given = record(made)["arguments"]
      return typeof given === "object" && given !== null
        ? { ...record(call), function: { ...record(made), arguments: JSON.stringify(given) } }
        : call
    })
  }
}

/** A whole answer in the form that clients expect: every choice has a message, and arguments of calls are text. */
const wholeOf = (text: string): string => {
  if (!/"tool_calls"|"content_filter"/.test(text)) return text
  const body = parsed(text)
  const { choices } = record(body)
  if (!Array.isArray(choices)) return text
  const withArguments = (call: unknown) => {
    const made = record(record(call)["function"])
    return { ...record(call), function: { ...made, arguments: made["arguments"] ?? "" } }
  }
  return JSON.stringify({
    ...record(body),
    choices: choices.map((choice) => {
      // A filtered choice may have no message.
      const message = callsOf({ content: null, ...record(record(choice)["message"]) })
      const calls = message["tool_calls"]
      return {
        ...record(choice),
        message: Array.isArray(calls)
          ? { ...message, tool_calls: calls.map(withArguments) }
          : message
      }
    })
  })
}

/** Converts a choice of a whole answer into the only chunk of a stream. Calls get an index, as in a stream. */
const chunkOf = (choice: unknown): unknown => {
  const { finish_reason, index, message } = record(choice)
  const fields = callsOf(record(message))
  const calls = fields["tool_calls"]
  return {
    index,
    finish_reason: finish_reason ?? unstated_finish,
    delta: Array.isArray(calls)
      ? { ...fields, tool_calls: calls.map((call, index) => ({ ...record(call), index })) }
      : fields
  }
}

const eventText = (data: string): string =>
  encoder.write({ _tag: "Event", id: undefined, event: "message", data })

/** Converts a whole answer into a stream of one event. An error object becomes that event unchanged. */
const streamOf = (text: string): string => {
  const body = parsed(text)
  if (body === undefined) {
    return eventText(JSON.stringify({ error: { message: "the answer is not JSON" } }))
  }
  const answer = record(body)
  const choices = answer["choices"]
  const event = Array.isArray(choices) ? { ...answer, choices: choices.map(chunkOf) } : body
  return eventText(JSON.stringify(event)) + eventText("[DONE]")
}

const unstatedFinish = eventText(
  JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: unstated_finish }] })
)

/** Appends a malformed call to the error's message. Groq returns it in a field that clients drop. */
const withGenerationQuoted = (line: string): string => {
  const body = parsed(line.slice("data:".length))
  if (body === undefined) return line
  const error = record(record(body)["error"])
  const message = `${String(error["message"] ?? "")} ${String(error["failed_generation"] ?? "")}`
  return `data: ${JSON.stringify({ ...record(body), error: { ...error, message } })}`
}

const withoutError = (line: string): string => {
  const { error, ...rest } = record(parsed(line.slice("data:".length)))
  return error === undefined ? line : `data: ${JSON.stringify(rest)}`
}

/** Keeps the first choice of a stream and drops the others, and moves usage from a vendor's field to the standard one. */
class Choices {
  private index: unknown
  /** True = the turn was cut at its token limit, so a later error that says the same is dropped. */
  private cut = false

  /** A corrected line of the stream; undefined = the line is dropped. */
  fixed(line: string): string | undefined {
    if (!/^data:\s*\{/.test(line)) return line
    if (/"failed_generation"\s*:/.test(line)) return withGenerationQuoted(line)
    this.cut ||= /"finish_reason"\s*:\s*"length"/.test(line)
    if (this.cut && /"error"\s*:\s*\{/.test(line)) return withoutError(line)
    if (!/"index"\s*:\s*[1-9]|"x_groq"|"arguments"\s*:\s*\{/.test(line)) {
      if (/"index"\s*:\s*0/.test(line)) this.index ??= 0
      return line
    }
    const all = record(parsed(line.slice("data:".length)))
    const usage = all["usage"] ?? record(all["x_groq"])["usage"]
    const choices = all["choices"]
    if (!Array.isArray(choices)) return line
    const kept = choices.filter((choice) => {
      const { index } = record(choice)
      this.index ??= index
      return index === this.index
    })
    if (kept.length === 0 && choices.length > 0 && usage === undefined) return undefined
    const fixed = kept.map((choice) => {
      const { delta } = record(choice)
      return delta === undefined ? choice : { ...record(choice), delta: callsOf(record(delta)) }
    })
    const counted = usage === undefined ? undefined : { usage }
    return `data: ${JSON.stringify({ ...all, choices: fixed, ...counted })}`
  }
}

/** `whole` gives what stands in the place of a line as the line ends, `rest` of one without an end; `end` ends the stream there. */
const byLine = (
  whole: (line: string, end: () => void) => string,
  rest: (line: string) => string
): TransformStream<string, string> => {
  let pieces: Array<string> = []
  return new TransformStream({
    transform(text, controller) {
      const lines = text.split("\n")
      const last = lines.pop() ?? ""
      let isOver = false
      let out = ""
      for (const line of lines) {
        out += whole(pieces.join("") + line, () => (isOver = true))
        pieces = []
        if (isOver) break
      }
      pieces.push(last)
      if (out !== "") controller.enqueue(out)
      if (isOver) controller.terminate()
    },
    flush(controller) {
      const line = pieces.join("")
      if (line !== "") controller.enqueue(rest(line))
    }
  })
}

/** Inserts a finish reason before `[DONE]`, and ends the stream there, even if the connection stays open. A cut stream stays so. */
const finished = () => {
  let seen = false
  let choices = false
  const of = new Choices()
  return byLine(
    (line, end) => {
      const each = of.fixed(line)
      if (each === undefined) return ""
      if (/^data:\s*\[DONE\]\s*$/.test(each)) {
        end()
        return (choices && !seen ? unstatedFinish : "") + eventText("[DONE]")
      }
      // Inside a JSON string the quotes are escaped, so text about a finish does not match.
      seen ||= /"finish_reason"\s*:\s*"/.test(each)
      choices ||= /"choices"\s*:\s*\[\s*\{/.test(each)
      return `${each}\n`
    },
    (line) => line
  )
}

const utf8 = (body: ReadableStream<Uint8Array>): ReadableStream<string> =>
  body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)

const linesOf = (body: ReadableStream<Uint8Array>, fix: (line: string) => string) =>
  utf8(body)
    .pipeThrough(byLine((line) => `${fix(line)}\n`, fix))
    .pipeThrough(new TextEncoderStream())

type Fixed = ReadableStream<Uint8Array> | string

const textOf = (body: ReadableStream<Uint8Array>): Promise<string> => new Response(body).text()

/** Converts the body of a successful answer into a stream of events, whatever its content type. */
const fixed = async ({ body, isJson }: Known): Promise<Fixed> =>
  isJson
    ? streamOf(await textOf(body))
    : utf8(body).pipeThrough(finished()).pipeThrough(new TextEncoderStream())

/** Redirects are not followed, so that prompt and key reach only the configured host. */
const exchange = async (
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  fix: (body: Known, answer: ResponseInit) => Promise<Fixed>
): Promise<Response> => {
  const response = await fetch(input, { ...init, redirect: "manual" })
  if (response.body === null) return response
  let isOver = false
  const body = leavable(response.body, () => isOver)
  const bounded = body.pipeThrough(boundedBody(init?.signal))
  const known = judgedBody(await kindOf(bounded), () => (isOver = true))
  const { headers, status, statusText } = response
  const answer = { headers, status, statusText }
  return new Response(response.ok ? await fix(known, answer) : known.body, answer)
}

const wantsStream = (init: RequestInit | undefined): boolean =>
  typeof init?.body === "string" && /"stream"\s*:\s*true/.test(init.body)

/** The fetch for any wire format. Throws a whole answer to a request for a stream as WholeAnswer. */
export const wireFetch: typeof fetch = async (input, init) =>
  wholeAnswerFor(init) ??
  exchange(input, withItems(init), async ({ body, isFrames, isJson }, answer) => {
    if (isFrames) return body
    if (!isJson) return linesOf(body, wireLines())
    const whole = wholeWire(await textOf(body))
    if (!wantsStream(init)) return whole
    throw new WholeAnswer(new Response(whole, answer))
  })

/** Gemini's list of events as a stream; it answers with a list when the request is not for events. */
const eventsOf = (text: string): string => {
  const body = parsed(text)
  if (body === undefined) return text
  return (Array.isArray(body) ? body : [body])
    .map((event) => eventText(JSON.stringify(event)))
    .join("")
}

export const geminiFetch: typeof fetch = (input, init) =>
  exchange(input, init, async ({ body, isJson }) => {
    if (!isJson) return linesOf(body, withZeros)
    const url = input instanceof Request ? input.url : String(input)
    const whole = withZeros(await textOf(body))
    return /:streamGenerateContent\b/.test(url) ? eventsOf(whole) : whole
  })

export const chatFetch: typeof fetch = (input, init) =>
  exchange(input, init, async (known) =>
    wantsStream(init) ? fixed(known) : wholeOf(await textOf(known.body))
  )
