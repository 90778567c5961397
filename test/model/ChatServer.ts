/**
 * A server on loopback that speaks the chat-completions wire format over real sockets: what each request gets is given
 * by the test, and what the client sent and when it hung up is kept.
 */
import { Deferred, Effect } from "effect"
import type { Scope } from "effect"
import { createServer } from "node:http"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** Answers one request. Ends or destroys the response itself. */
export type Answer = (response: ServerResponse) => void | Promise<void>

export interface Asked {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

export interface ChatServer {
  readonly base_url: string
  readonly asked: ReadonlyArray<Asked>
  /** Done when a client closed the connection before its answer ended. */
  readonly hungUp: Deferred.Deferred<void>
  /** Done when the first answer has begun. */
  readonly begun: Deferred.Deferred<void>
}

/** The body as the strictest providers read it; undefined if it is not UTF-8, or has half of a surrogate pair in any text. */
const strictly = (bytes: Buffer): Record<string, unknown> | undefined => {
  try {
    let isWhole = true
    const text = new TextDecoder("utf8", { fatal: true }).decode(bytes)
    const body = JSON.parse(text, (name, value: unknown) => {
      isWhole &&= name.isWellFormed() && (typeof value !== "string" || value.isWellFormed())
      return value
    }) as Record<string, unknown>
    return isWhole ? body : undefined
  } catch {
    return undefined
  }
}

/** One answer for each request, in order; the last one again for those beyond. */
export const serve = (
  answers: ReadonlyArray<Answer>
): Effect.Effect<ChatServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const asked: Array<Asked> = []
    const hungUp = Deferred.makeUnsafe<void>()
    const begun = Deferred.makeUnsafe<void>()
    const server = createServer((request, response) => {
      const pieces: Array<Buffer> = []
      request.on("data", (piece: Buffer) => pieces.push(piece))
      request.on("end", () => {
        const body = strictly(Buffer.concat(pieces))
        const { headers, url } = request
        const answer = answers[Math.min(asked.length, answers.length - 1)]!
        asked.push({ path: url ?? "", headers, body: body ?? {} })
        if (body === undefined) {
          return void status(400, error("the body is no well-formed JSON"))(response)
        }
        response.on("close", () => {
          if (!response.writableEnded) Deferred.doneUnsafe(hungUp, Effect.void)
        })
        Deferred.doneUnsafe(begun, Effect.void)
        void answer(response)
      })
    })
    yield* Effect.callback<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    })
    yield* Effect.addFinalizer(() =>
      Effect.callback<void>((resume) => {
        server.closeAllConnections()
        server.close(() => resume(Effect.void))
      })
    )
    const { port } = server.address() as AddressInfo
    return { base_url: `http://127.0.0.1:${port}/v1`, asked, hungUp, begun }
  })

const turnOfTheLoop = () => new Promise<void>((resolve) => setImmediate(resolve))

const head = (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.socket?.setNoDelay(true)
}

export const sse = (events: ReadonlyArray<unknown>): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")

/** A stream in pieces of `bytes`; with `cut` the socket is destroyed after so many bytes, without `done` no `[DONE]`. */
export const stream =
  (
    events: ReadonlyArray<unknown>,
    options: { bytes?: number; cut?: number; done?: boolean } = {}
  ): Answer =>
  async (response) => {
    head(response)
    const whole = Buffer.from(sse(events) + (options.done === false ? "" : "data: [DONE]\n\n"))
    const body = whole.subarray(0, options.cut ?? whole.length)
    const size = options.bytes ?? body.length
    for (let at = 0; at < body.length; at += size) {
      response.write(body.subarray(at, at + size))
      await turnOfTheLoop()
    }
    if (options.cut === undefined) response.end()
    else response.destroy()
  }

/** Begins a stream and then sends nothing more. */
export const stall =
  (events: ReadonlyArray<unknown>): Answer =>
  (response) => {
    head(response)
    response.write(sse(events))
  }

/** Accepts the request and resets the connection. */
export const reset: Answer = (response) => {
  response.socket?.resetAndDestroy()
}

export const status =
  (code: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(code, { "content-type": "application/json", ...headers })
    response.end(typeof body === "string" ? body : JSON.stringify(body))
  }

export const error = (message: string, also: Record<string, unknown> = {}) => ({
  error: { message, ...also }
})

const chunk = (choice: Record<string, unknown>, also: Record<string, unknown> = {}) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "wire-model-1",
  choices: [{ index: 0, finish_reason: null, ...choice }],
  ...also
})

export const say = (content: string) => chunk({ delta: { role: "assistant", content } })
export const think = (reasoning_content: string) => chunk({ delta: { reasoning_content } })
export const refuse = (refusal: string) => chunk({ delta: { refusal } })

/** A piece of a tool call; what is absent is not on the wire. */
export const tool = (
  index: number,
  piece: { id?: string; name?: string; arguments?: string }
): unknown => {
  const { id, ...fn } = piece
  return chunk({
    delta: {
      tool_calls: [{ index, type: "function", ...(id === undefined ? {} : { id }), function: fn }]
    }
  })
}

export const finish = (finish_reason: string) => chunk({ delta: {}, finish_reason })

export const usage = (counts: Record<string, unknown>) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "wire-model-1",
  choices: [],
  usage: counts
})
