/**
 * Handles what a channel's own servers send to this service, such as messages and clicks of people. Each handler checks by the
 * means of its channel that a request is genuine. Without a handler, requests to a channel are not found.
 */
import { Context } from "effect"
import type { Effect } from "effect"

export interface IngressRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The body exactly as it was sent, because signatures cover its text; at most 1,000,000 bytes. */
  readonly body: string
}

export interface IngressAnswer {
  readonly status: 200 | 400 | 401 | 429 | 503
  /** Sent as `Retry-After`; absent = the header is not sent. */
  readonly retry_after_s?: number
  /** Plain text; empty = none. */
  readonly body: string
}

export type IngressHandler = (request: IngressRequest) => Effect.Effect<IngressAnswer>

/** The handlers by the name of their channel, for `POST /v1/channels/<name>`. */
export const ChannelIngress: Context.Reference<ReadonlyMap<string, IngressHandler>> =
  Context.Reference<ReadonlyMap<string, IngressHandler>>("troupe/services/ChannelIngress", {
    defaultValue: () => new Map()
  })
