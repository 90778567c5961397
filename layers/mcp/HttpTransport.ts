/**
 * The official Streamable HTTP transport, with a fetch that is bound to the server's origin. A request whose stream ends without
 * its answer fails at once; otherwise the client would wait for its timeout. Messages that need no answer from the server, such
 * as our answers to its requests, are bounded in number and time. The connection of a request is closed when nobody waits for it
 * any more.
 */
import type {
  JSONRPCMessage,
  RequestId,
  StreamableHTTPClientTransport,
  Transport
} from "@modelcontextprotocol/client"
import type { Place } from "./McpCredentials.ts"
import { judgedBody, judgedEvents, legible } from "./MessageText.ts"
import type { Sdk } from "./Sdk.ts"
import type { McpHttpServer } from "../../src/mcp/McpServer.ts"
import { allowanceOf, oauthAllowanceOf } from "../../src/mcp/McpServer.ts"
import { judgedFetch } from "../network/JudgedFetch.ts"

/** Fails the body if one message is too large: the whole body or, in a stream of events, one event. */
const bounded = (
  body: ReadableStream<Uint8Array>,
  isStream: boolean,
  message_bytes_max: number
): ReadableStream<Uint8Array> => {
  let size = 0
  let isLineEmpty = true
  const count = (chunk: Uint8Array): void => {
    if (!isStream) {
      size += chunk.length
      return
    }
    for (const byte of chunk) {
      size++
      if (byte === 10) {
        if (isLineEmpty) size = 0
        isLineEmpty = true
      } else if (byte !== 13) isLineEmpty = false
      if (size > message_bytes_max) return
    }
  }
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        count(chunk)
        if (size > message_bytes_max) {
          controller.error(new Error(`a message of more than ${message_bytes_max} bytes`))
        } else controller.enqueue(chunk)
      }
    })
  )
}

/**
 * Makes the fetch for the official client. It sends requests only to the server's origin and, for OAuth, to where its issuer is,
 * follows no redirects, adds the credentials, which no other code sees, and bounds each message before it is parsed.
 */
const originFetch = (place: Place, message_bytes_max: number) => {
  const { allow, credentials } = place
  const server = place.server as McpHttpServer
  const fetch = judgedFetch(allowanceOf(server, allow))
  const { origin } = new URL(server.url)
  const ask = async (url: URL, init: RequestInit | undefined, refused: boolean) => {
    const headers = new Headers(init?.headers)
    for (const [name, value] of await credentials.headers(refused)) headers.set(name, value)
    return fetch(url, { ...init, headers, redirect: "error" })
  }
  const send = async (url: URL, init: RequestInit | undefined): Promise<Response> => {
    if (url.origin !== origin) {
      const allowance = server.oauth && oauthAllowanceOf(server.oauth, url, allow)
      if (allowance === undefined) throw new Error("another origin than the server's")
      return judgedFetch(allowance)(url, { ...init, redirect: "error" })
    }
    const response = await ask(url, init, false)
    if (response.status !== 401 || !credentials.canChange) return response
    await response.body?.cancel()
    return ask(url, init, true)
  }
  return async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await send(new URL(input), init)
    if (response.body === null) return response
    const isStream = /^\s*text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")
    const body = bounded(response.body, isStream, message_bytes_max)
    return new Response(body.pipeThrough(isStream ? judgedEvents() : judgedBody()), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers
    })
  }
}

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1]

/** The code of the error that replaces an answer that was lost with its stream. */
export const stream_lost = -32_099

/** The greatest number of answers and notifications that are being sent at the same time; more are dropped. */
const untold_max = 64
/** How long a server may take to receive one of them. */
const tell_ms = 30_000
/** How long the connection of a request may stay open after its answer, or after it was cancelled. */
const linger_ms = 1_000
/** A server may name the delay before a lost stream is opened again, within these bounds. */
const reconnect_ms_min = 500
const reconnect_ms_max = 30_000

class OpenRequests {
  readonly #requests = new Map<RequestId, AbortController>()

  /** Opens a request. The signal aborts when the request's connection has to be closed. */
  open(id: RequestId): AbortSignal {
    const request = new AbortController()
    this.#requests.set(id, request)
    return request.signal
  }

  closed(id: RequestId): void {
    this.#requests.delete(id)
  }

  /** Called when nobody waits for further data of this request. Its connection is closed soon after. */
  leave(id: RequestId): void {
    const request = this.#requests.get(id)
    if (request === undefined) return
    this.#requests.delete(id)
    setTimeout(() => request.abort(), linger_ms).unref()
  }
}

const anySignal = (one: AbortSignal, other: AbortSignal | undefined): AbortSignal =>
  other === undefined ? one : AbortSignal.any([one, other])

const isCancellation = (
  message: JSONRPCMessage | Array<JSONRPCMessage>
): message is JSONRPCMessage & { readonly params: { readonly requestId: RequestId } } =>
  !Array.isArray(message) &&
  "method" in message &&
  message.method === "notifications/cancelled" &&
  message.params?.["requestId"] !== undefined

const reconnectLater = (reconnect: () => void, delay_ms: number): (() => void) => {
  const bounded = Math.min(Math.max(delay_ms, reconnect_ms_min), reconnect_ms_max)
  const timer = setTimeout(reconnect, bounded)
  return () => clearTimeout(timer)
}

export const httpTransport = (
  sdk: Sdk,
  place: Place,
  url: string,
  message_bytes_max: number
): StreamableHTTPClientTransport => {
  class AnsweringTransport extends sdk.StreamableHTTPClientTransport {
    #untold = 0
    readonly #requests = new OpenRequests()

    constructor(...given: ConstructorParameters<typeof StreamableHTTPClientTransport>) {
      super(...given)
      let receive: Transport["onmessage"]
      Object.defineProperty(this, "onmessage", {
        get: () => receive,
        set: (to: Transport["onmessage"]) => {
          receive = (message, extra) => {
            if (!("method" in message) && message.id !== undefined) this.#requests.leave(message.id)
            to?.(legible(sdk, message), extra)
          }
        }
      })
    }

    async #tell(message: JSONRPCMessage | Array<JSONRPCMessage>, options?: SendOptions) {
      if (this.#untold >= untold_max) return
      this.#untold++
      try {
        await super.send(message, { ...options, requestSignal: AbortSignal.timeout(tell_ms) })
      } finally {
        this.#untold--
      }
    }

    override send(
      message: JSONRPCMessage | Array<JSONRPCMessage>,
      options?: SendOptions
    ): Promise<void> {
      if (Array.isArray(message) || !("method" in message) || !("id" in message)) {
        if (isCancellation(message)) this.#requests.leave(message.params.requestId)
        return this.#tell(message, options)
      }
      const { id } = message
      const signal = this.#requests.open(id)
      const sent = super.send(message, {
        ...options,
        requestSignal: anySignal(signal, options?.requestSignal),
        onRequestStreamEnd: () => {
          this.#requests.closed(id)
          options?.onRequestStreamEnd?.()
          // For a request that was answered, the client drops this message.
          const error = { code: stream_lost, message: "the stream ended before the answer" }
          this.onmessage?.({ jsonrpc: "2.0", id, error })
        }
      })
      return sent.catch((error: unknown) => {
        this.#requests.closed(id)
        throw error
      })
    }
  }
  const authProvider = place.credentials.authProvider(sdk)
  return new AnsweringTransport(new URL(url), {
    fetch: originFetch(place, message_bytes_max),
    ...(authProvider === undefined ? undefined : { authProvider }),
    reconnectionScheduler: reconnectLater
  })
}
