/** Requests and answers of the reference platform: bodies within bounds, errors as problem documents. */
import { createHash, timingSafeEqual } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Json } from "../../../src/value/Canonical.ts"

/** The greatest body, in bytes. */
export const body_bytes_max = 1_000_000
/** What is read and dropped of a greater one, so that its sender can read the answer; then the connection ends. */
const dropped_bytes_max = 8_000_000

export interface Reply {
  readonly status: number
  readonly body: Json
  readonly headers?: Readonly<Record<string, string>>
}

export const ok = (body: Json): Reply => ({ status: 200, body })

const titles: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  413: "Content Too Large",
  422: "Unprocessable Content",
  500: "Internal Server Error",
  507: "Insufficient Storage"
}

/** RFC 9457, whose `detail` is what a caller's model may read. */
export const problem = (
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {}
): Reply => ({
  status,
  body: { type: "about:blank", title: titles[status] ?? "Error", status, detail },
  headers: { ...headers, "content-type": "application/problem+json" }
})

export const send = (response: ServerResponse, { body, headers, status }: Reply): void => {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(text)),
    ...headers
  })
  response.end(text)
}

/** Reads a body; undefined where it is too large. One that nobody will look at is dropped. */
export const bodyOf = (
  request: IncomingMessage,
  isKept: boolean,
  done: (body: string | undefined) => void
): void => {
  const chunks: Array<Buffer> = []
  let size = 0
  request.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (size > dropped_bytes_max) request.destroy()
    else if (isKept && size <= body_bytes_max) chunks.push(chunk)
  })
  request.on("end", () =>
    done(size > body_bytes_max ? undefined : Buffer.concat(chunks).toString("utf8"))
  )
}

export const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Compares in a time that says nothing of where they differ. */
export const isSameSecret = (given: string, secret: string): boolean =>
  timingSafeEqual(sha256(given), sha256(secret))
