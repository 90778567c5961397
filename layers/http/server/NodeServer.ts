/**
 * The HTTP server of Node.
 */
import { createServer } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { Effect, Layer, Schema } from "effect"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { makeProblem, problem_content_type } from "../../../src/operation/Problem.ts"
import { newCorrelation } from "./Edge.ts"

export interface Listen {
  /** The address to listen on. Absent = 127.0.0.1, which only this machine can reach. */
  readonly host?: string | undefined
  /** The port, 0 to 65,535; 0 = any free one. */
  readonly port: number
  /**
   * After this time without traffic, in ms, a connection is closed. That ends event streams whose client does not read; it
   * resumes from its cursor. More than the stream's `heartbeat_ms`. Absent = 60,000.
   */
  readonly stall_ms?: number | undefined
  /**
   * How long a request may take to arrive with its body, in ms; then it is answered with 408, and its connection is closed after
   * twice this time at the latest. Absent = 60,000.
   */
  readonly request_ms?: number | undefined
}

/** How long a stop waits for open requests, in ms; an event stream does not end by itself. */
const stop_ms = 2_000

/** The bytes of one response that wait for the client. More are produced only after these are taken. */
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

/** The problem, and the headers of every response. */
const partsOf = ([status, , name, title, detail]: Refusal) => {
  const correlation_id = newCorrelation()
  const body = JSON.stringify({ ...makeProblem(status, name, title, detail), correlation_id })
  const headers = {
    Connection: "close",
    "Content-Type": problem_content_type,
    "Content-Length": String(Buffer.byteLength(body)),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Correlation-Id": correlation_id
  }
  return { body, headers }
}

/** The response to bytes that are not HTTP. */
const answerOf = (refusal: Refusal): string => {
  const { body, headers } = partsOf(refusal)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${refusal[0]} ${refusal[1]}`, ...lines, "", body].join("\r\n")
}

/** Answers a request on whose connection it is this response's turn. */
const refuse = (response: ServerResponse, refusal: Refusal): void => {
  const { body, headers } = partsOf(refusal)
  response.writeHead(refusal[0], headers).end(body)
}

/** The response whose turn it is on a connection. */
type Owners = WeakMap<Duplex, ServerResponse>

const remember = (owners: Owners, { socket }: IncomingMessage, response: ServerResponse): void => {
  if (response.socket !== null) owners.set(socket, response)
  else response.once("socket", () => owners.set(socket, response))
}

/** Whether bytes that are written now would be in the middle of a response. */
const isAnswering = (owner: ServerResponse | undefined): boolean =>
  owner !== undefined && owner.headersSent && !owner.writableFinished

/** Sends what was written, then closes the connection. */
const close = (socket: Duplex): void =>
  void (socket instanceof Socket ? socket.destroySoon() : socket.destroy())

/** Answers bytes that are not HTTP with a problem; Node itself would answer with an empty 400. */
const listener = (stall_ms: number, request_ms: number) => (): Server => {
  const owners: Owners = new WeakMap()
  return createServer({
    requestTimeout: request_ms,
    headersTimeout: request_ms,
    connectionsCheckingInterval: Math.min(request_ms, 30_000),
    highWaterMark: unread_bytes,
    // Given two Authorization headers, Node would take the first and a proxy perhaps the second, so both are ignored.
    joinDuplicateHeaders: true,
    // `Edge` answers requests without a Host.
    requireHostHeader: false
  })
    .setTimeout(stall_ms)
    .on("request", (request, response) => remember(owners, request, response))
    .on("clientError", (error, socket) => {
      if (!socket.writable) return socket.destroy()
      if (isAnswering(owners.get(socket))) return close(socket)
      return socket.end(answerOf(refusalOf(error)))
    })
    .on("checkExpectation", (_, response) => refuse(response, unmet))
}

/** The server cannot listen at this address. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  /** The address that was asked for. */
  host: Schema.String,
  /** The port that was asked for. */
  port: Schema.Int,
  /** The error code of the system, such as `EADDRINUSE`; empty if there is none. */
  code: Schema.String
}) {
  override get message(): string {
    const why = reasons[this.code] ?? `the system refuses it (${this.code || "no code"})`
    return `the HTTP API cannot listen at ${this.host}:${this.port}: ${why}`
  }
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another process listens there",
  EACCES: "this user may not listen there",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "the name of the host is not known"
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : ""

export const layer = ({
  host = "127.0.0.1",
  port,
  request_ms = 60_000,
  stall_ms = 60_000
}: Listen) =>
  Layer.catchTag(
    NodeHttpServer.layer(listener(stall_ms, request_ms), {
      host,
      port,
      gracefulShutdownTimeout: stop_ms
    }),
    "ServeError",
    ({ cause }) =>
      Layer.effectContext(Effect.fail(new ListenFailed({ host, port, code: codeOf(cause) })))
  )
