/**
 * Checks the options of an HTTP server before it listens: an option that does not fit its type fails with `InvalidInput`
 * and its field.
 */
import { createHash } from "node:crypto"
import { Effect, Redacted, Schema } from "effect"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import { InvalidInput, shapeReader } from "../../../src/schema/InvalidInput.ts"
import { inMilliseconds } from "../../../src/value/Times.ts"
import { AgentName } from "../../../src/value/Ids.ts"
import type { Credential } from "../../runtime/directory/TokenCredentials.ts"
import { isMountPath } from "../../http/boundary/PathShape.ts"
import type { CardKey } from "../../http/boundary/HttpSettings.ts"
import { HttpSettings, isCardKey, wire_names } from "../../http/boundary/HttpSettings.ts"
import type { Listen } from "../../http/server/NodeServer.ts"
import type { ConsoleSettings } from "./CheckedConsole.ts"
import { checkConsole, ConsoleShape } from "./CheckedConsole.ts"
import type { Http, Token } from "./ServerOptions.ts"
import {
  between,
  definedOptions,
  int32_max,
  is,
  isUrl,
  objectOf,
  optionalBetween,
  secret,
  text,
  time,
  url
} from "./OptionShapes.ts"
import type { Options, RouteOptions } from "./ServerOptions.ts"

const listen = {
  host: Schema.optional(text),
  port: between(0, 65_535),
  stall_ms: time(1, int32_max),
  request_ms: time(1, int32_max)
} satisfies Record<keyof Listen, unknown>

const sha256 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/i))

const credential = {
  sha256,
  principal: objectOf("a Principal")
} satisfies Record<keyof Credential, unknown>

const count = optionalBetween(1, int32_max)

const mountPath = is<string>(
  'a path such as "/agents": a slash before each part, none at the end',
  (value) => typeof value === "string" && isMountPath(value)
)

const origin = is<string>(
  'the origin of a page, such as "https://shop.example": no path, no slash at the end',
  (value) => typeof value === "string" && isUrl(value) && new URL(value).origin === value
)

const bareUrl = is<string>(
  'a URL such as "https://shop.example/agents": no query, no slash at the end',
  (value) => {
    if (typeof value !== "string" || !isUrl(value)) return false
    const { origin, pathname } = new URL(value)
    return value === origin || (value === origin + pathname && !value.endsWith("/"))
  }
)

const cardKey = is<CardKey>(
  "{ kid, pem, jku? }: texts, of which `pem` is a private key on the curve P-256",
  isCardKey
)

const settings = {
  body_bytes_max: count,
  streams_max: count,
  streams_tenant_max: count,
  streams_principal_max: count,
  unread_units_max: count,
  unsent_bytes_max: count,
  messages_principal_per_minute: count,
  messages_tenant_per_minute: count,
  requests_principal_per_minute: count,
  requests_tenant_per_minute: count,
  heartbeat_ms: time(1, int32_max),
  hosts: Schema.optionalKey(Schema.Array(text)),
  base_path: Schema.optionalKey(mountPath),
  wires: Schema.optionalKey(Schema.Array(Schema.Literals(wire_names))),
  origins: Schema.optionalKey(Schema.Array(origin).check(Schema.isMaxLength(100))),
  public_url: Schema.optionalKey(bareUrl),
  authorization_servers: Schema.optionalKey(Schema.Array(url).check(Schema.isMaxLength(10))),
  card_key: Schema.optionalKey(cardKey),
  cards_open: Schema.optionalKey(Schema.Boolean),
  metrics_open: Schema.optionalKey(Schema.Boolean),
  customer_agents: Schema.optionalKey(Schema.Array(AgentName).check(Schema.isMaxLength(1_000)))
} satisfies Record<keyof HttpSettings, unknown>

const fields = {
  listen: Schema.Struct(listen),
  credentials: Schema.Array(Schema.Struct(credential)).check(Schema.isMaxLength(100_000)),
  settings: Schema.optionalKey(objectOf("an object"))
} satisfies Record<keyof Options, unknown>

const { base_path: _base, ...route_settings } = settings

const token = {
  token: Schema.optionalKey(secret),
  sha256: Schema.optionalKey(sha256),
  principal: objectOf("a Principal")
} satisfies Record<keyof Token, unknown>

const { customer_agents: _agents, ...start_settings } = settings

const http = {
  ...listen,
  port: Schema.optionalKey(listen.port),
  tokens: Schema.Array(Schema.Struct(token)).check(Schema.isMaxLength(100_000)),
  settings: Schema.optionalKey(objectOf("an object")),
  console: Schema.optionalKey(ConsoleShape)
} satisfies Record<keyof Http, unknown>

const read = shapeReader(Schema.Struct(fields))
const readHttp = shapeReader(Schema.Struct(http))
const readStartSettings = shapeReader(Schema.Struct(start_settings))
const readSettings = shapeReader(Schema.Struct(settings))
const { listen: _listen, ...shared_fields } = fields
const route_fields = {
  ...shared_fields,
  console: Schema.optionalKey(ConsoleShape)
} satisfies Record<keyof RouteOptions, unknown>
const readRouteOptions = shapeReader(Schema.Struct(route_fields))
const readRouteSettings = shapeReader(Schema.Struct(route_settings))

/**
 * The credentials, each with its digest in lower case. Two with the same digest are refused: one token would belong to two
 * principals.
 */
const checkCredentials = Effect.fnUntraced(function* (
  all: ReadonlyArray<{ readonly sha256: string; readonly principal: unknown }>,
  list = "credentials"
) {
  const digests = new Set<string>()
  return yield* Effect.forEach(
    all,
    Effect.fnUntraced(function* ({ principal, sha256: given }, index) {
      const digest = given.toLowerCase()
      const field = `${list}.${index}`
      if (digests.has(digest)) {
        const message = "another credential has this digest"
        return yield* new InvalidInput({ field: `${field}.sha256`, reason: message })
      }
      digests.add(digest)
      return {
        sha256: digest,
        principal: yield* Entries.principal(principal, `${field}.principal`)
      }
    })
  )
})

/** The checked options of a server. */
export interface Checked {
  /** Absent = the server does not listen. */
  readonly listen: Listen | undefined
  readonly credentials: ReadonlyArray<Credential>
  readonly settings: HttpSettings
  /** Absent = the console is not served. */
  readonly console: ConsoleSettings | undefined
}

/** The minimum length of a token in characters: a shorter one can be guessed. */
const token_min = 16

/** The digest of a token, from an option that has the digest or the token. */
const digestOf = Effect.fnUntraced(function* (
  { sha256: digest, token }: Pick<Token, "sha256" | "token">,
  field: string
) {
  const wrong = (message: string) => new InvalidInput({ field, reason: message })
  if ((digest === undefined) === (token === undefined)) {
    return yield* wrong("Expected either a token or its sha256")
  }
  if (token === undefined) return digest ?? ""
  const text = Redacted.isRedacted(token) ? Redacted.value(token) : token
  // The error does not quote the token, because its reader must not learn it.
  if (text.length < token_min) {
    return yield* wrong(`a token has at least ${token_min} characters: take 32 random bytes`)
  }
  return createHash("sha256").update(text).digest("hex")
})

/** The option `http` of a start. Fails with the first member that is wrong. */
export const checkHttp = Effect.fnUntraced(function* (
  http: Http,
  customer_agents: ReadonlyArray<AgentName>
) {
  const {
    console,
    port,
    settings = {},
    tokens,
    ...times
  } = yield* readHttp(definedOptions(inMilliseconds<unknown>(http, 2)), "http")
  const own = yield* readStartSettings(definedOptions(settings), "http.settings")
  const digests = yield* Effect.forEach(tokens, ({ principal, ...token }, index) =>
    Effect.map(digestOf(token, `http.tokens.${index}`), (sha256) => ({ sha256, principal }))
  )
  const checked: Checked = {
    listen: port === undefined ? undefined : { ...times, port },
    credentials: yield* checkCredentials(digests, "http.tokens"),
    settings: { ...(yield* HttpSettings), ...own, customer_agents },
    console: yield* checkConsole(console, "http.console")
  }
  return checked
})

/** The checked options, with the current settings as defaults. Fails with the first option that is wrong. */
export const checkServerOptions = Effect.fnUntraced(function* (options: Options) {
  const {
    credentials,
    listen,
    settings = {}
  } = yield* read(definedOptions(inMilliseconds<unknown>(options, 2)), "")
  const own = yield* readSettings(definedOptions(settings), "settings")
  const chosen: HttpSettings = { ...(yield* HttpSettings), ...own }
  return { listen, credentials: yield* checkCredentials(credentials), settings: chosen }
})

/**
 * Checks the options of routes in a router of the application, which decides itself where it listens and under which path the
 * routes are.
 */
export const checkRouteOptions = Effect.fnUntraced(function* (options: RouteOptions) {
  const {
    console,
    credentials,
    settings = {}
  } = yield* readRouteOptions(definedOptions(inMilliseconds<unknown>(options, 2)), "")
  const own = yield* readRouteSettings(definedOptions(settings), "settings")
  const chosen: HttpSettings = { ...(yield* HttpSettings), ...own }
  return {
    credentials: yield* checkCredentials(credentials),
    settings: chosen,
    console: yield* checkConsole(console, "console")
  }
})
