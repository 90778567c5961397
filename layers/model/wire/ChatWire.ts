/**
 * Corrects answers of chat-completions endpoints before the provider's client reads them: a whole JSON answer to a request for a
 * stream, a stream that ends with `[DONE]` without a finish reason, several choices in one stream, usage in a vendor's field,
 * and arguments that are objects instead of text. The readers are tolerant on purpose: an unknown form passes through unchanged,
 * and the client decides about it. So lines of a stream are corrected one by one and not parsed as events, which would also
 * complete a stream that was cut. All bodies were checked against their bounds before.
 */
import { encoder } from "effect/encoding/Sse"
import type { Known } from "./BodyKind.ts"
import { leavable } from "./AnswerEnd.ts"
import { kindOf } from "./BodyKind.ts"
import { heardBytes } from "./BytesHeard.ts"
import { boundedBody, judgedBody } from "./JudgedAnswer.ts"
import { withItems } from "./OutputItems.ts"
import { wholeAnswerFor, WholeAnswer } from "./WholeAnswer.ts"
import { byLine, wholeWire, wireLines, withZeros } from "./WireLines.ts"

/** Parses a text whose bounds were checked as JSON; undefined if it is malformed. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The finish reason for a stream that gave none. The client maps it to `other`. */
export const unstated_finish = "unstated"

const record = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}

/** Arguments that are objects become text; absent ones stay absent. */
const callsOf = (message: Record<string, unknown>): Record<string, unknown> => {
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

/**
 * Keeps the first choice of a stream and drops the others, and moves usage from a vendor's field to the standard one.
 */
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

/**
 * Inserts a finish reason before `[DONE]` if there was none, and ends the stream there, even if the connection stays open. A
 * stream that was cut stays unfinished.
 */
const finished = () => {
  /** The pieces of a line that has not ended; each is scanned once, however many there are. */
  let pieces: Array<string> = []
  let seen = false
  let choices = false
  const of = new Choices()
  return new TransformStream<string, string>({
    transform(text, controller) {
      const lines = text.split("\n")
      const rest = lines.pop() ?? ""
      const [first] = lines
      if (first !== undefined) {
        lines[0] = pieces.join("") + first
        pieces = []
      }
      pieces.push(rest)
      let out = ""
      for (const line of lines) {
        const each = of.fixed(line)
        if (each === undefined) continue
        if (/^data:\s*\[DONE\]\s*$/.test(each)) {
          const before = choices && !seen ? out + unstatedFinish : out
          controller.enqueue(before + eventText("[DONE]"))
          return controller.terminate()
        }
        // Inside a JSON string the quotes are escaped, so text about a finish does not match.
        seen ||= /"finish_reason"\s*:\s*"/.test(each)
        choices ||= /"choices"\s*:\s*\[\s*\{/.test(each)
        out += `${each}\n`
      }
      if (out !== "") controller.enqueue(out)
    },
    flush(controller) {
      const line = pieces.join("")
      if (line !== "") controller.enqueue(line)
    }
  })
}

const utf8 = (body: ReadableStream<Uint8Array>): ReadableStream<string> =>
  body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)

const linesOf = (body: ReadableStream<Uint8Array>, fix: (line: string) => string) =>
  utf8(body).pipeThrough(byLine(fix)).pipeThrough(new TextEncoderStream())

type Fixed = ReadableStream<Uint8Array> | string

const textOf = (body: ReadableStream<Uint8Array>): Promise<string> => new Response(body).text()

/** Converts the body of a successful answer into a stream of events, whatever its content type. */
const fixed = async ({ body, isJson }: Known): Promise<Fixed> =>
  isJson
    ? streamOf(await textOf(body))
    : utf8(body).pipeThrough(finished()).pipeThrough(new TextEncoderStream())

/**
 * Sends a request and checks the body against its bounds before it is parsed. Redirects are not followed, so that
 * prompt and key reach only the configured host.
 */
const exchange = async (
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
  fix: (body: Known, answer: ResponseInit) => Promise<Fixed>
): Promise<Response> => {
  const response = await fetch(input, { ...init, redirect: "manual" })
  if (response.body === null) return response
  let isOver = false
  const body = leavable(response.body, () => isOver)
  const bounded = boundedBody(() => heardBytes(init?.signal))
  const known = judgedBody(await kindOf(body.pipeThrough(bounded)), () => (isOver = true))
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

/** The fetch for Gemini: a stream of events where one was requested. */
export const geminiFetch: typeof fetch = (input, init) =>
  exchange(input, init, async ({ body, isJson }) => {
    if (!isJson) return linesOf(body, withZeros)
    const url = input instanceof Request ? input.url : String(input)
    const whole = withZeros(await textOf(body))
    return /:streamGenerateContent\b/.test(url) ? eventsOf(whole) : whole
  })

/** The fetch for chat completions, with corrected answers. */
export const chatFetch: typeof fetch = (input, init) =>
  exchange(input, init, async (known) =>
    wantsStream(init) ? fixed(known) : wholeOf(await textOf(known.body))
  )
