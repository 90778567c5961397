/**
 * A server on a socket of this machine.
 */
import { createServer } from "node:http"
import type { Server } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { makeProblem, problem_content_type } from "../../src/api/Problem.ts"
import { newCorrelation } from "./Edge.ts"

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
  /**
   * A request, body and all, arrives within this, in ms, or is answered with 408; a client that drips bytes holds no
   * connection for longer than twice that. Absent = 60,000.
   */
  readonly request_ms?: number | undefined
}

/** An open event stream never ends by itself: stopping does not wait for it longer than this. */
const stop_ms = 2_000

/** Of one answer, as much waits in this process for its reader; what is behind it is not made before that. */
const unread_bytes = 16_384

type Refusal = readonly [
  status: number,
  phrase: string,
  name: string,
  title: string,
  detail: string
]

const broken: Refusal = [
  400,
  "Bad Request",
  "unreadable-request",
  "The request could not be read",
  "It is not HTTP/1.1."
]
const too_large: Refusal = [
  431,
  "Request Header Fields Too Large",
  "headers-too-large",
  "The headers are too large",
  "Send fewer or shorter ones."
]
const too_slow: Refusal = [
  408,
  "Request Timeout",
  "request-timeout",
  "The request did not arrive in time",
  "It has its time, body and all."
]

const refusalOf = (error: Error): Refusal => {
  const code = "code" in error ? error.code : undefined
  if (code === "HPE_HEADER_OVERFLOW") return too_large
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? too_slow : broken
}

const unmet: Refusal = [
  417,
  "Expectation Failed",
  "unmet-expectation",
  "Nobody here meets this expectation",
  "Expect 100-continue, or nothing."
]

/** The whole answer to what never became a request, with what every answer carries. */
const answerOf = ([status, phrase, name, title, detail]: Refusal): string => {
  const correlation_id = newCorrelation()
  const body = JSON.stringify({ ...makeProblem(status, name, title, detail), correlation_id })
  return [
    `HTTP/1.1 ${status} ${phrase}`,
    "Connection: close",
    `Content-Type: ${problem_content_type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    `X-Correlation-Id: ${correlation_id}`,
    "",
    body
  ].join("\r\n")
}

/** Node answers what is not HTTP with an empty 400; we answer it as we answer every error. */
const listener = (stall_ms: number, request_ms: number) => (): Server =>
  createServer({
    requestTimeout: request_ms,
    headersTimeout: request_ms,
    connectionsCheckingInterval: Math.min(request_ms, 30_000),
    highWaterMark: unread_bytes,
    // Of two Authorization headers Node would take the first, and a proxy before us perhaps the second: neither counts.
    joinDuplicateHeaders: true,
    // The room says itself what is wrong with a request that names no host.
    requireHostHeader: false
  })
    .setTimeout(stall_ms)
    .on("clientError", (error, socket) => {
      if (!socket.writable) return socket.destroy()
      return socket.end(answerOf(refusalOf(error)))
    })
    .on("checkExpectation", ({ socket }) => void socket.end(answerOf(unmet)))

export const layer = ({
  host = "127.0.0.1",
  port,
  request_ms = 60_000,
  stall_ms = 60_000
}: Listen): ReturnType<typeof NodeHttpServer.layer> =>
  NodeHttpServer.layer(listener(stall_ms, request_ms), {
    host,
    port,
    gracefulShutdownTimeout: stop_ms
  })
