/**
 * The official Streamable HTTP transport over the fetch that is bound to the origin of the server. A request whose stream ends without its answer fails
 * at once; without this the client would wait for its timeout.
 */
import type { JSONRPCMessage, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import type { DialAllowance } from "../../src/call/Dialling.ts"
import type { McpHttpServer } from "../../src/tool/McpServer.ts"
import { originFetch } from "./OriginFetch.ts"
import type { Sdk } from "./Sdk.ts"

type SendOptions = Parameters<StreamableHTTPClientTransport["send"]>[1]

/** The code of the error that replaces an answer that was lost with its stream. */
export const stream_lost = -32_099

export const httpTransport = (
  sdk: Sdk,
  server: McpHttpServer,
  message_bytes_max: number,
  allowance: DialAllowance
): StreamableHTTPClientTransport => {
  class AnsweringTransport extends sdk.StreamableHTTPClientTransport {
    override send(
      message: JSONRPCMessage | Array<JSONRPCMessage>,
      options?: SendOptions
    ): Promise<void> {
      if (Array.isArray(message) || !("method" in message) || !("id" in message)) {
        return super.send(message, options)
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
    fetch: originFetch(server, message_bytes_max, allowance)
  })
}
