/**
 * What a channel's own servers send to this service, such as messages and clicks of people. Each handler checks by its
 * channel's own means that a request is genuine. Without any handler, requests to channels find nothing.
 */
import { Context } from "effect"
import type { Effect } from "effect"

export interface IngressRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The body as it was sent, at most 1,000,000 bytes, because signatures cover its exact text. */
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
