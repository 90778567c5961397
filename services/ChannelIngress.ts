/**
 * Handles what a channel's own servers send to this service, such as messages and clicks of people. Each handler checks by the
 * means of its channel that a request is genuine. Without a handler, requests to a channel are not found.
 */
import { Context } from "effect"
import type { Effect } from "effect"

/** A request of a channel, such as a webhook of Slack, as it came over HTTP. */
export interface IngressRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The body exactly as it was sent, because signatures cover its text; at most 1,000,000 bytes. */
  readonly body: string
}

/** What the channel is answered. */
export interface IngressAnswer {
  /** The HTTP status. */
  readonly status: 200 | 400 | 401 | 429 | 503
  /** Sent as `Retry-After`; absent = the header is not sent. */
  readonly retry_after_s?: number
  /** Empty = none. */
  readonly body: string
  /** Absent = plain text. */
  readonly type?: "application/json"
}

/** Takes the requests of one channel. It answers within the channel's own limit of time. */
export type IngressHandler = (request: IngressRequest) => Effect.Effect<IngressAnswer>

/** The handlers by the name of their channel, for `POST /v1/channels/<name>`. */
export const ChannelIngress: Context.Reference<ReadonlyMap<string, IngressHandler>> =
  Context.Reference<ReadonlyMap<string, IngressHandler>>("troupe/services/ChannelIngress", {
    defaultValue: () => new Map()
  })
