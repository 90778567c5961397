/**
 * Bounds of the HTTP surface, with their defaults.
 */
import { Context } from "effect"
import type { AgentName } from "../../src/Ids.ts"

export interface HttpSettings {
  /** The largest body, in bytes; refused before it is parsed. A message of 1,000,000 bytes fits, escapes included. */
  readonly body_bytes_max: number
  /** Event streams that may be open at the same time: all, those of one tenant, those of one principal. */
  readonly streams_max: number
  readonly streams_tenant_max: number
  readonly streams_principal_max: number
  /**
   * The text that readers of all event streams together have not taken yet, in UTF-16 units of frames above 16,384.
   * Beyond it the connection whose frame has waited longest is closed, and its client resumes from its cursor.
   */
  readonly unread_units_max: number
  /**
   * The same for all other answers, in bytes of those above 16,384. Beyond it the connection whose answer has waited longest is
   * closed.
   */
  readonly unsent_bytes_max: number
  /** Messages a minute; the messages of a whole minute may come at once. Beyond it 429, with `Retry-After`. */
  readonly messages_principal_per_minute: number
  readonly messages_tenant_per_minute: number
  /** The same for all authenticated requests. */
  readonly requests_principal_per_minute: number
  readonly requests_tenant_per_minute: number
  /** The interval of comments that keep an event stream alive, in ms. */
  readonly heartbeat_ms: number
  /**
   * Host names of this service, without ports, beside localhost, 127.0.0.1 and [::1]; requests for others are refused
   * (421). Empty: a server on loopback takes those three, any other server takes any.
   */
  readonly hosts: ReadonlyArray<string>
  /**
   * The path under which clients find the API, such as `/agents`: it begins links, and requests come with it or without it.
   * Empty = the root, or what Express says that it took away.
   */
  readonly base_path: string
  /** Whether `/metrics` is served without a token: only for a server that is not reachable from outside. */
  readonly metrics_open: boolean
  /**
   * The agents that customers may talk to. Others are not found for them; when the list is empty, customers are refused
   * (403).
   */
  readonly customer_agents: ReadonlyArray<AgentName>
}

export const defaults: HttpSettings = {
  body_bytes_max: 2_000_000,
  streams_max: 1_000,
  streams_tenant_max: 250,
  streams_principal_max: 50,
  unread_units_max: 16_000_000,
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
