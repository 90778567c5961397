/**
 * Bounds what readers have not taken yet, which stays in memory: frames of event streams, which may have megabytes, and other
 * responses. Each kind shares one bound of the process; beyond it the connection whose frame or response has waited longest is
 * closed. The client of an event stream resumes from its cursor.
 */
import { IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"

/** Frames of at most this many UTF-16 units are not counted, because every connection buffers as much. */
export const small_units = 16_384

/** The account of one reader. */
export interface Account {
  /** Counts the units of the large frame that the reader has to take next; 0 = it has taken the frame. */
  readonly hold: (units: number) => void
  readonly close: () => void
}

export interface Unread {
  /** `cut` closes the reader's connection. */
  readonly open: (cut: () => void) => Account
}

/** `units_max`: the bound on all readers together, in UTF-16 units. The reader of the newest frame is never cut off. */
export const makeUnread = (units_max: number): Unread => {
  /** Accounts with a frame, the oldest frame first. */
  const holding = new Map<Account, { readonly units: number; readonly cut: () => void }>()
  let all = 0
  const drop = (account: Account): (() => void) | undefined => {
    const held = holding.get(account)
    if (held === undefined) return undefined
    holding.delete(account)
    all -= held.units
    return held.cut
  }
  return {
    open: (cut) => {
      const account: Account = {
        hold: (units) => {
          drop(account)
          if (units === 0) return
          holding.set(account, { units, cut })
          all += units
          for (const other of holding.keys()) {
            if (all <= units_max || other === account) return
            drop(other)?.()
          }
        },
        close: () => void drop(account)
      }
      return account
    }
  }
}

/** Counts the size of a long text in the account until the next text is pulled, which means that the long one was taken. */
export const counting = (account: Account | undefined) => {
  let isHeld = false
  return {
    taken: () => {
      if (isHeld) account?.hold(0)
      isHeld = false
    },
    hold: (text: { readonly length: number }) => {
      isHeld = text.length > small_units
      if (isHeld) account?.hold(text.length)
    }
  }
}

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
