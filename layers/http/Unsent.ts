/**
 * Bounds the answers that their readers have not taken yet, which stay in memory: all of the process share one bound, and beyond
 * it the connection whose answer has waited longest is closed.
 */
import { IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Unread } from "./Unread.ts"
import { small_units } from "./Unread.ts"

/** Node's own; a Web request has none, and its answer is held by who called the handler. */
const responseOf = (request: HttpServerRequest.HttpServerRequest): ServerResponse | undefined => {
  if (!(request.source instanceof IncomingMessage)) return undefined
  const response = NodeHttpServerRequest.toServerResponse(request)
  return response instanceof ServerResponse ? response : undefined
}

/** Counts an answer until its reader has taken it. Event streams count their frames themselves. */
export const countUnsent = (
  unsent: Unread,
  request: HttpServerRequest.HttpServerRequest,
  { body }: HttpServerResponse.HttpServerResponse
): void => {
  if (body._tag !== "Uint8Array" || body.contentLength <= small_units) return
  if (request.method === "HEAD") return
  const response = responseOf(request)
  if (response === undefined || response.closed) return
  const account = unsent.open(() => response.req.socket.destroy())
  response.once("close", () => account.close())
  account.hold(body.contentLength)
}
