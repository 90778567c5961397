/**
 * Bounds the responses that their readers have not taken yet, which stay in memory. All responses of the process share one bound;
 * beyond it the connection whose response has waited longest is closed.
 */
import { IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Unread } from "./UnreadFrames.ts"
import { small_units } from "./UnreadFrames.ts"

/** The response object of Node. A Web request has none; its response is in the hands of the caller of the handler. */
const responseOf = (request: HttpServerRequest.HttpServerRequest): ServerResponse | undefined => {
  if (!(request.source instanceof IncomingMessage)) return undefined
  const response = NodeHttpServerRequest.toServerResponse(request)
  return response instanceof ServerResponse ? response : undefined
}

/** Counts a response until its reader has taken it. Event streams count their frames themselves. */
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
