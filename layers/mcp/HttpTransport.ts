/**
 * The official Streamable HTTP transport over the fetch that is bound to the origin of the server. A request whose stream ends without its answer fails
 * at once; without this the client would wait for its timeout. What needs no answer of the server's, such as our answers to
 * what it asks, is bounded in number and time.
 */
import type { JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import type { DialAllowance } from "../../src/call/Dialling.ts"
import type { McpHttpServer } from "../../src/tool/McpServer.ts"
import { originFetch } from "./OriginFetch.ts"
import type { Sdk } from "./Sdk.ts"

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1]

/** The code of the error that replaces an answer that was lost with its stream. */
export const stream_lost = -32_099

/** Answers and notifications that are on their way at once; more are dropped. */
const untold_max = 64
/** How long a server may take to receive one. */
const tell_ms = 30_000
/** A server may name the delay before a lost stream is opened again, within these bounds. */
const reconnect_ms_min = 500
const reconnect_ms_max = 30_000

const reconnectLater = (reconnect: () => void, delay_ms: number): (() => void) => {
  const bounded = Math.min(Math.max(delay_ms, reconnect_ms_min), reconnect_ms_max)
  const timer = setTimeout(reconnect, bounded)
  return () => clearTimeout(timer)
}

export const httpTransport = (
  sdk: Sdk,
  server: McpHttpServer,
  message_bytes_max: number,
  allowance: DialAllowance
): StreamableHTTPClientTransport => {
  class AnsweringTransport extends sdk.StreamableHTTPClientTransport {
    #untold = 0

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
        return this.#tell(message, options)
      }
      const { id } = message
      return super.send(message, {
        ...options,
        onRequestStreamEnd: () => {
          options?.onRequestStreamEnd?.()
          // For a request that was answered, the client drops this message.
          const error = { code: stream_lost, message: "the stream ended before the answer" }
          this.onmessage?.({ jsonrpc: "2.0", id, error })
        }
      })
    }
  }
  return new AnsweringTransport(new URL(server.url), {
    fetch: originFetch(server, message_bytes_max, allowance),
    reconnectionScheduler: reconnectLater
  })
}
