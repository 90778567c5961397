/**
 * Real servers on loopback for tests of fetches, and names for them that only the test's resolver has.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import type { Scope } from "effect"

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export interface Web {
  readonly port: number
  readonly seen: Array<Seen>
  /** Connections that were made, and those that are still open. */
  readonly connections: { made: number; open: number }
}

/** A server on one loopback address until the scope closes. `port` 0 = any. */
export const web = (
  answer: (request: Seen, response: ServerResponse) => void,
  host = "127.0.0.1",
  port = 0
): Effect.Effect<Web, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly web: Web; readonly close: () => void }>((resume) => {
      const seen: Array<Seen> = []
      const connections = { made: 0, open: 0 }
      const server = createServer((message: IncomingMessage, response) => {
        const chunks: Array<Buffer> = []
        message.on("data", (chunk: Buffer) => chunks.push(chunk))
        message.on("end", () => {
          const request = {
            method: message.method ?? "",
            url: message.url ?? "",
            headers: message.headers,
            body: Buffer.concat(chunks).toString()
          }
          seen.push(request)
          answer(request, response)
        })
      })
      server.on("connection", (socket) => {
        connections.made++
        connections.open++
        socket.on("close", () => connections.open--)
      })
      server.listen(port, host, () => {
        const at = (server.address() as AddressInfo).port
        resume(
          Effect.succeed({
            web: { port: at, seen, connections },
            close: () => {
              server.closeAllConnections()
              server.close()
            }
          })
        )
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ web: made }) => made))

/** A resolver of these names only, which counts its look-ups. */
export const names = (known: Readonly<Record<string, ReadonlyArray<string>>>) => {
  const asked: Array<string> = []
  return {
    asked,
    resolve: (host: string): Promise<ReadonlyArray<string>> => {
      asked.push(host)
      const found = known[host]
      return found === undefined ? Promise.reject(new Error("ENOTFOUND")) : Promise.resolve(found)
    }
  }
}
