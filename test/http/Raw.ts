/** Requests as bytes on a socket, for those that no client library would send. */
import { connect } from "node:net"
import { Effect } from "effect"
import { HttpServer } from "effect/http"

export const port = Effect.map(HttpServer.HttpServer, ({ address }) =>
  "port" in address ? address.port : 0
)

export interface Raw {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- what a foreign client sees has no type
  readonly json: any
}

/** Everything until the server closes the connection. */
export const bytes = Effect.fnUntraced(function* (text: string | Uint8Array) {
  const at = yield* port
  return yield* Effect.callback<string>((resume) => {
    let received = ""
    const socket = connect(at, "127.0.0.1", () => socket.write(text))
    socket.on("data", (chunk) => (received += chunk.toString("latin1")))
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(received)))
    return Effect.sync(() => socket.destroy())
  })
})

export const parse = (text: string): Raw => {
  const [head = "", ...rest] = text.split("\r\n\r\n")
  const [first = "", ...fields] = head.split("\r\n")
  const headers: Record<string, string> = {}
  for (const field of fields) {
    const colon = field.indexOf(":")
    headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim()
  }
  const body = rest.join("\r\n\r\n")
  return {
    status: Number(first.split(" ")[1]),
    headers,
    text: body,
    json: body.startsWith("{") ? JSON.parse(body) : undefined
  }
}

/** A request with these lines, after whose answer the connection ends. */
export const raw = (...lines: ReadonlyArray<string>) =>
  Effect.map(bytes(`${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`), parse)

/** The same with a body after the head; no header is added for it. */
export const rawBody = (body: string, ...lines: ReadonlyArray<string>) =>
  Effect.map(bytes(`${lines.join("\r\n")}\r\nConnection: close\r\n\r\n${body}`), parse)
