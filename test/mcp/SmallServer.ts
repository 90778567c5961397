/**
 * A minimal MCP server over HTTP, whose answers a test gives.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import type { McpHttpServer } from "../../src/mcp/McpServer.ts"

export const at = (port: number, more?: Partial<McpHttpServer>): McpHttpServer => ({
  namespace: "web",
  transport: "http",
  url: `http://127.0.0.1:${port}/mcp`,
  ...more
})

interface Asked {
  readonly method: string
  readonly authorization: string | undefined
  readonly text: string
}

type Answers = (asked: Asked, response: ServerResponse, message: Record<string, unknown>) => void

export const reply = (response: ServerResponse, id: unknown, result: unknown) => {
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result }))
}

interface More {
  /** Answers a request for a stream of events. Absent = there is none. */
  readonly stream?: (response: ServerResponse) => void
  /** Takes an answer of the client's. Absent = it is received. */
  readonly told?: (response: ServerResponse) => void
  /** Members of the tool beside its name. */
  readonly tool?: object
  /** The session of now; a request of another one is refused with the status. */
  readonly session?: { id: string; readonly status: number }
  /** The answer to a request in place of all others; false = there is none. */
  readonly instead?: (request: IncomingMessage, response: ServerResponse, body: string) => boolean
}

/** A minimal server: one tool `look`, and an answer to its calls that the test gives. */
export const small = Effect.fnUntraced(function* (
  answers: Answers,
  { instead, session, stream, told, tool }: More = {}
) {
  const asked: Array<Asked> = []
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    let body = ""
    for await (const chunk of request) body += String(chunk)
    if (instead?.(request, response, body) === true) return
    if (request.method === "GET" && stream !== undefined) return stream(response)
    if (request.method !== "POST") return void response.writeHead(405).end()
    const message = JSON.parse(body) as Record<string, unknown>
    if (!("method" in message)) {
      return told === undefined ? void response.writeHead(202).end() : told(response)
    }
    const method = String(message["method"])
    if (session !== undefined && method === "initialize") {
      response.setHeader("mcp-session-id", session.id)
    } else if (session !== undefined && request.headers["mcp-session-id"] !== session.id) {
      return void response.writeHead(session.status).end()
    }
    const one = { method, authorization: request.headers.authorization, text: body }
    asked.push(one)
    switch (method) {
      case "initialize":
        return reply(response, message["id"], {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "small", version: "1" }
        })
      case "tools/list":
        return reply(response, message["id"], {
          tools: [{ name: "look", inputSchema: { type: "object" }, ...tool }]
        })
      case "tools/call":
        return answers(one, response, message)
      case "notifications/initialized":
        return void response.writeHead(202).end()
      default:
        return void response.writeHead(200, { "content-type": "application/json" }).end(
          JSON.stringify({
            jsonrpc: "2.0",
            id: message["id"] ?? null,
            error: { code: -32_601, message: "no such method" }
          })
        )
    }
  }
  const server = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const made = createServer((request, response) => void serve(request, response)).listen(
        0,
        "127.0.0.1",
        () => resume(Effect.succeed(made))
      )
    }),
    (server) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  return { port: (server.address() as AddressInfo).port, asked }
})
