/**
 * Bounds of the HTTP surface, with their defaults.
 */
import { getHeapStatistics } from "node:v8"
import { Context } from "effect"
import type { AgentName } from "../../../src/value/Ids.ts"

export interface HttpSettings {
  /**
   * The largest body, in bytes. A larger one is refused before it is parsed. The default leaves room for a message of 1,000,000
   * bytes and the usual escapes.
   */
  readonly body_bytes_max: number
  /** The maximum number of event streams that are open at the same time: in all, for one tenant, and for one principal. */
  readonly streams_max: number
  readonly streams_tenant_max: number
  readonly streams_principal_max: number
  /**
   * The maximum text that the readers of all event streams together have not taken yet, in UTF-16 units of frames above 16,384
   * units. Beyond it the connection whose frame has waited longest is closed, and its client resumes from its cursor.
   */
  readonly unread_units_max: number
  /**
   * The maximum of all other responses that their readers have not taken yet, in bytes of those above 16,384 bytes. Beyond it the
   * connection whose response has waited longest is closed.
   */
  readonly unsent_bytes_max: number
  /**
   * The maximum number of messages per minute; the messages of a whole minute may come at once. Further messages are answered
   * with 429 and `Retry-After`.
   */
  readonly messages_principal_per_minute: number
  readonly messages_tenant_per_minute: number
  /** The same limit for all authenticated requests. */
  readonly requests_principal_per_minute: number
  readonly requests_tenant_per_minute: number
  /** The interval of comments that keep an event stream alive, in ms. */
  readonly heartbeat_ms: number
  /**
   * Host names of this service, without ports, in addition to localhost, 127.0.0.1 and [::1]. Requests for other hosts are
   * refused (421). Empty: a server on loopback accepts only those three, any other server accepts every host.
   */
  readonly hosts: ReadonlyArray<string>
  /**
   * The path under which clients find the API, such as `/agents`. Links begin with it, and requests may come with it or without
   * it. Empty = the root, or the path that Express reports as removed.
   */
  readonly base_path: string
  /** Whether `/metrics` is served without a token. Only for a server that cannot be reached from outside. */
  readonly metrics_open: boolean
  /**
   * The agents that customers may talk to. Customers do not find other agents; if the list is empty, customers are refused (403).
   */
  readonly customer_agents: ReadonlyArray<AgentName>
}

export const defaults: HttpSettings = {
  body_bytes_max: 2_000_000,
  streams_max: 1_000,
  streams_tenant_max: 250,
  streams_principal_max: 50,
  // A sixteenth of a small heap: a unit has up to two bytes.
  unread_units_max: Math.min(16_000_000, Math.floor(getHeapStatistics().heap_size_limit / 32)),
  unsent_bytes_max: 128_000_000,
  messages_principal_per_minute: 300,
  messages_tenant_per_minute: 1_200,
  requests_principal_per_minute: 6_000,
  requests_tenant_per_minute: 24_000,
  heartbeat_ms: 15_000,
  hosts: [],
  base_path: "",
  metrics_open: false,
  customer_agents: []
}

export const HttpSettings: Context.Reference<HttpSettings> = Context.Reference<HttpSettings>(
  "troupe/http/HttpSettings",
  { defaultValue: () => defaults }
)
