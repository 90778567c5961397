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
import type { Place } from "./Place.ts"
import { legible } from "./MessageText.ts"
import { originFetch } from "./OriginFetch.ts"
import type { Sdk } from "./Sdk.ts"

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

/** The requests whose connections are open. */
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
