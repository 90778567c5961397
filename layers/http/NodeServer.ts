/**
 * A server on a socket of this machine.
 */
import { createServer } from "node:http"
import type { Server } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { makeProblem, problem_content_type } from "../../src/api/Problem.ts"

export interface Listen {
  /** Absent = 127.0.0.1: nobody else reaches it. */
  readonly host?: string | undefined
  /** 0 = any free one. */
  readonly port: number
  /**
   * A connection on which nothing moves for this long, in ms, is closed: a reader of a stream that does not read, whose
   * events are kept no longer and who resumes by its cursor. More than the stream's `heartbeat_ms`. Absent = 60,000.
   */
  readonly stall_ms?: number | undefined
}

/** An open event stream never ends by itself: stopping does not wait for it longer than this. */
const stop_ms = 2_000

/** A request, body and all, arrives within this; a client that drips bytes holds no connection for longer. */
const request_ms = 60_000

/** Of one answer, as much waits in this process for its reader; what is behind it is not made before that. */
const unread_bytes = 16_384

const broken = JSON.stringify(
  makeProblem(400, "unreadable-request", "The request could not be read", "It is not HTTP/1.1.")
)

const too_large = JSON.stringify(
  makeProblem(431, "headers-too-large", "The headers are too large", "Send fewer or shorter ones.")
)

/** Node answers what is not HTTP with an empty 400; we answer it as we answer every error. */
const listener = (stall_ms: number) => (): Server =>
  createServer({ requestTimeout: request_ms, highWaterMark: unread_bytes })
    .setTimeout(stall_ms)
    .on("clientError", (error, socket) => {
      if (!socket.writable) return socket.destroy()
      const overflow = "code" in error && error.code === "HPE_HEADER_OVERFLOW"
      const status = overflow ? "431 Request Header Fields Too Large" : "400 Bad Request"
      const body = overflow ? too_large : broken
      return socket.end(
        `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: ${problem_content_type}\r\n` +
          `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
      )
    })

export const layer = ({
  host = "127.0.0.1",
  port,
  stall_ms = 60_000
}: Listen): ReturnType<typeof NodeHttpServer.layer> =>
  NodeHttpServer.layer(listener(stall_ms), { host, port, gracefulShutdownTimeout: stop_ms })
