/**
 * Bounds of the HTTP surface, with their defaults.
 */
import { createPrivateKey } from "node:crypto"
import { getHeapStatistics } from "node:v8"
import { Context, Redacted, Result, Schema } from "effect"
import { textUpTo } from "../../../src/value/Bounds.ts"
import type { AgentName } from "../../../src/value/Ids.ts"

/** The wires by name. */
export const wire_names = [
  "ag-ui",
  "ui-messages",
  "mcp",
  "a2a",
  "responses",
  "chat-completions"
] as const
export type WireName = (typeof wire_names)[number]

/** A key that signs (JWS, ES256). */
export interface CardKey {
  /** The id by which verifiers find its public key. */
  readonly kid: string
  /** The private key, on the curve P-256, as PEM. */
  readonly pem: string | Redacted.Redacted
  /** The URL of the JWK set that has its public key. Absent = verifiers know it. */
  readonly jku?: string
}

export const privateKeyOf = ({ pem }: Pick<CardKey, "pem">) =>
  createPrivateKey(Redacted.isRedacted(pem) ? Redacted.value(pem) : pem)

const isShaped = Schema.is(
  Schema.Struct({
    kid: textUpTo(200),
    pem: Schema.Union([Schema.String, Schema.Redacted(Schema.String)]),
    jku: Schema.optionalKey(Schema.String)
  })
)

export const isCardKey = (value: unknown): value is CardKey => {
  if (!isShaped(value)) return false
  const key = Result.getOrUndefined(Result.try(() => privateKeyOf(value)))
  return key?.asymmetricKeyDetails?.namedCurve === "prime256v1"
}

export interface HttpSettings {
  /**
   * The largest body, in bytes, with room for a message of 1,000,000 bytes and the usual escapes. A larger one is refused before
   * it is parsed (413). Absent = 2,000,000.
   */
  readonly body_bytes_max: number
  /** The most event streams that are open at once in the process; further ones are refused (503). Absent = 1,000. */
  readonly streams_max: number
  /** The same of one tenant (429). Absent = 250. */
  readonly streams_tenant_max: number
  /** The same of one principal (429). Absent = 50. */
  readonly streams_principal_max: number
  /**
   * What the readers of all event streams together have not taken yet, in UTF-16 units of frames above 16,384 units. Beyond it
   * the connection whose frame has waited longest is closed, and its client resumes from its cursor. Absent = 16,000,000, and a
   * 32nd of the heap limit's bytes where that is less.
   */
  readonly unread_units_max: number
  /**
   * What the readers of all other responses have not taken yet, in bytes of responses above 16,384 bytes. Beyond it the
   * connection whose response has waited longest is closed. Absent = 128,000,000.
   */
  readonly unsent_bytes_max: number
  /**
   * The most messages of one principal in a minute; they may come at once. Further ones are refused (429) with `Retry-After`.
   * Absent = 300.
   */
  readonly messages_principal_per_minute: number
  /** The same of one tenant. Absent = 1,200. */
  readonly messages_tenant_per_minute: number
  /** The most authenticated requests of one principal in a minute, messages among them (429). Absent = 6,000. */
  readonly requests_principal_per_minute: number
  /** The same of one tenant. Absent = 24,000. */
  readonly requests_tenant_per_minute: number
  /** The interval of comments that keep an event stream alive, in ms; at each one its token is checked again. Absent = 15,000. */
  readonly heartbeat_ms: number
  /**
   * Host names of this service, without ports, besides localhost, 127.0.0.1 and [::1]. Other hosts are refused (421). Absent =
   * none: a server on loopback and a mounted API serve those three, any other server serves every host.
   */
  readonly hosts: ReadonlyArray<string>
  /**
   * The path under which clients find the API, such as `/agents`. Links begin with it, and requests may come with it or without
   * it. Absent = the root, or the path that Express reports as removed.
   */
  readonly base_path: string
  /** The wires that are served, by name: `ag-ui`, `ui-messages`, `mcp`, `a2a`, `responses`, `chat-completions`. Absent = none. */
  readonly wires: ReadonlyArray<WireName>
  /**
   * Origins whose pages may call the wires from a browser, such as `https://shop.example`, besides pages of the service's own host.
   * Absent = none.
   */
  readonly origins: ReadonlyArray<string>
  /**
   * The URL of the API as clients find it, with its path, such as `https://shop.example/agents`: the wires `mcp` and `a2a` name
   * themselves by it. Absent = http, the host that a request names, and the path of the API.
   */
  readonly public_url: string | undefined
  /**
   * The issuers of access tokens that this service takes, such as `https://login.example`: hosts of the wire `mcp` ask them for
   * tokens. Absent = none: a host is given its token.
   */
  readonly authorization_servers: ReadonlyArray<string>
  /** What signs the cards of agents on the wire `a2a`. Absent = nothing: they have no signatures. */
  readonly card_key: CardKey | undefined
  /** Whether everybody may read the cards of agents for customers on the wire `a2a`. Absent = no: they take a token. */
  readonly cards_open: boolean
  /** Whether `/metrics` is served without a token: only for a server that cannot be reached from outside. Absent = no. */
  readonly metrics_open: boolean
  /**
   * The agents that customers may talk to; they find no others. An option of `start` itself there. Absent = none: customers are
   * refused (403).
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
  wires: [],
  origins: [],
  public_url: undefined,
  authorization_servers: [],
  card_key: undefined,
  cards_open: false,
  metrics_open: false,
  customer_agents: []
}

export const HttpSettings: Context.Reference<HttpSettings> = Context.Reference<HttpSettings>(
  "troupe/http/HttpSettings",
  { defaultValue: () => defaults }
)
