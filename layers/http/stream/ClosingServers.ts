/**
 * Tells when a server of Node's stops listening. Its own `close` waits for open responses and tells nobody, so an event stream on
 * it, which does not end by itself, would keep it open for ever: of a server of this service, or of one in which an application
 * has mounted the API or merged its routes.
 */
import { IncomingMessage } from "node:http"
import { Server } from "node:net"
import { Effect } from "effect"

/** How long a server may have stopped listening before it is noticed. */
const look_ms = 100

/** The server that the request came by; undefined for a Web request, and for one of HTTP/2. */
const serverOf = (source: unknown): Server | undefined => {
  if (!(source instanceof IncomingMessage)) return undefined
  const { server } = source.socket as { readonly server?: unknown }
  return server instanceof Server ? server : undefined
}

export interface ClosingServers {
  /** Ends when the server of this request has stopped listening; never for a request whose server is not known, or never listened. */
  readonly closing: (source: unknown) => Effect.Effect<void>
}

/** One timer looks for all who wait, while anybody does; it keeps no process. */
export const makeClosingServers = (): ClosingServers => {
  const waiting = new Map<() => void, Server>()
  let timer: NodeJS.Timeout | undefined
  const leave = (wake: () => void): void => {
    waiting.delete(wake)
    if (waiting.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  const look = (): void => {
    for (const [wake, server] of waiting) if (!server.listening) wake()
  }
  return {
    closing: (source) =>
      Effect.callback<void>((resume) => {
        const server = serverOf(source)
        if (server?.listening !== true) return
        const wake = () => {
          leave(wake)
          resume(Effect.void)
        }
        waiting.set(wake, server)
        timer ??= setInterval(look, look_ms).unref()
        return Effect.sync(() => leave(wake))
      })
  }
}

/**
 * Closes the connection of a response, once it is sent, if its server has stopped listening meanwhile. Node would keep it open for
 * a next request that nobody answers.
 */
export const endsWithServer = (
  request: IncomingMessage,
  response: { once(event: "finish", listener: () => void): unknown }
): void => {
  const server = serverOf(request)
  if (server?.listening !== true) return
  response.once("finish", () => {
    if (!server.listening) request.socket.destroySoon()
  })
}

/** The header with which the connection of an event stream ends with it; none where the protocol has no such header. */
export const closesAfter = (source: unknown): Readonly<Record<string, string>> =>
  source instanceof IncomingMessage ? { connection: "close" } : {}
