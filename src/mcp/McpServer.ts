/**
 * An MCP server as an operator declares it: where it is, what its tools may do, and the exact command that starts a local one.
 */
import { Redacted, Result, Schema } from "effect"
import type { DialAllowance } from "../network/Address.ts"
import {
  isMetadataAddress,
  literalAddress,
  mayDial,
  parseAddressRange
} from "../network/Address.ts"
import { secretForms } from "../error/KnownSecrets.ts"
import type { Time, Timed } from "../value/Times.ts"
import { milliseconds } from "../value/Times.ts"
import type { Governance } from "../tool/GovernedTool.ts"
import { timeout_ms_default } from "../tool/ToolSpec.ts"

/** What an operator declares about one tool; this overrides the server's claims. */
export interface McpToolDeclaration extends Partial<Omit<Governance, "namespace">> {
  /** The tool's name in the runtime, for a tool whose name at the server is not a legal name or collides with another. */
  readonly name?: string
}

/** A value that is passed to a server: plain, or `Redacted`, which never appears in a log, an error or a result. */
export type McpSecret = string | Redacted.Redacted

interface Common {
  /** The namespace of its tools: `namespace.name@version`. */
  readonly namespace: string
  /** Declarations of tools, by the names that the server gives them. */
  readonly tools?: Readonly<Record<string, McpToolDeclaration>>
  /** The server's names of the tools to import. Absent = all. */
  readonly only?: ReadonlyArray<string>
  /**
   * Whether the first import of a server that has no pins accepts what it finds. Absent = `trust`, unless `accept` is
   * given. Tools that appear later are never accepted by themselves.
   */
  readonly first_use?: "trust" | "refuse"
  /** Hashes of tool definitions that are accepted for any tool of this server. */
  readonly accept?: ReadonlyArray<string>
  /** `ignore`: every tool counts as external unless it is declared. Absent = `claims`: see `claimedEffects`. */
  readonly hints?: "claims" | "ignore"
  /** The timeout of one call, which begins anew with each report of progress. Absent = 60,000. */
  readonly timeout_ms?: number
  /**
   * The greatest time of one call, however often the server reports progress. Absent = ten times the call's `timeout_ms`, or
   * 3,600,000 where that is more.
   */
  readonly total_ms?: number
  /**
   * The timeout of start, handshake and listing together, at every start and restart, at most 3,600,000. Absent = 60,000 for a
   * program, which a launcher such as npx, uvx or docker may have to fetch first, and 20,000 for a URL.
   */
  readonly connect_timeout_ms?: number
  /**
   * `false`: the start fails with `McpServerUnavailable` where its first attempt to connect to this server does. Absent = `true`:
   * the start goes on without it, its tools are closed, and open when it is connected.
   */
  readonly optional?: boolean
  /** The greatest size of one message from the server, in bytes. A larger message ends the connection. Absent = 16,000,000. */
  readonly message_bytes_max?: number
  /**
   * How many calls may run at the same time; others wait, and their deadline includes the wait. One that waits until its
   * deadline is not sent. Absent = 16.
   */
  readonly calls_max?: number
  /** True = the tools `list_resources` and `read_resource`, for agents that name them. */
  readonly resources?: boolean
  /** True = the tools `list_prompts` and `get_prompt`, for agents that name them. */
  readonly prompts?: boolean
  /**
   * Which protocol version is used. `auto`: the newest that both sides support. `legacy`: only the handshake from before 2026,
   * for servers that fail when they are probed. Absent = `auto`.
   */
  readonly protocol?: "auto" | "legacy"
}

/** A local program, started without a shell and in a process group of its own. */
export interface McpStdioServer extends Common {
  /** A program that speaks on its standard streams. */
  readonly transport: "stdio"
  /** An absolute path, or a name that is looked up in the PATH of `env` or `inherit`. */
  readonly program: string
  /** Its arguments, each as it is: no shell reads them. Absent = none. */
  readonly args?: ReadonlyArray<string>
  /** The directory in which it runs. Absent = that of this process. */
  readonly cwd?: string
  /** The environment variables of the program, in addition to those that `inherit` names. */
  readonly env?: Readonly<Record<string, McpSecret>>
  /** Names of environment variables that the program inherits from this process. Absent = none, not even PATH. */
  readonly inherit?: ReadonlyArray<string>
}

/** What a function that gives credentials learns. `refused`: the server refused (401) the ones that it gave for this request before. */
export interface McpAsked {
  /** True = the server refused (401) the credentials that were given for this request before. */
  readonly refused: boolean
}

type Eventually<A> = A | PromiseLike<A>

/** OAuth of a hosted server. No person is asked: the client has credentials of its own, or the refresh token of somebody who agreed. */
export interface McpOAuth {
  /** The URL of the authorization server. The credentials go to no other one, whatever the server says. */
  readonly issuer: string
  /** As the server knows it: of a registration, or the URL of a client metadata document. */
  readonly client_id: string
  /** Absent = a public client, which has a refresh token. */
  readonly client_secret?: Redacted.Redacted
  /** The scopes to ask for, with spaces between them. Absent = those of the server. */
  readonly scope?: string
  /** The store of a refresh token. `save` is called with each new one. Absent = the grant `client_credentials`. */
  readonly refresh?: {
    /** Gives the refresh token that was saved last. */
    readonly load: () => Eventually<McpSecret>
    /** Saves a new refresh token, in place of the one before. */
    readonly save: (token: Redacted.Redacted) => Eventually<void>
  }
}

/**
 * A server over Streamable HTTP. Functions that give credentials are called for each request, and once more for a request that was
 * refused (401); they have 30 s.
 */
export interface McpHttpServer extends Common {
  /** A server behind a URL. */
  readonly transport: "http"
  /** https, or http on loopback; elsewhere as `allow.hosts` says. */
  readonly url: string
  /** The bearer token of the requests. */
  readonly token?: Redacted.Redacted | ((asked: McpAsked) => Eventually<McpSecret>)
  /** Sent with each request, or a function that gives them. Never logged. Absent = none. */
  readonly headers?:
    | Readonly<Record<string, McpSecret>>
    | ((asked: McpAsked) => Eventually<Readonly<Record<string, McpSecret>>>)
  /** In place of `token`. */
  readonly oauth?: McpOAuth
}

/** A server that gives tools: a program of this machine, or one behind a URL. */
export type McpServer = McpStdioServer | McpHttpServer

/** Which commands may be started, and which hosts may be reached. */
export interface McpAllow {
  /** Exact command lines, as `commandLine` writes them. Absent = none. */
  readonly commands?: ReadonlyArray<string>
  /**
   * Hosts of HTTP servers, as `name` or `name:port`. Absent = https to the hosts that are declared, at public addresses, and
   * http on loopback. A host that is listed here may also be at a private address, but never at that of a cloud's metadata
   * service.
   */
  readonly hosts?: ReadonlyArray<string>
}

/** The servers whose tools the service has, and what they may do. */
export interface McpOptions {
  /** The servers, at most 64. */
  readonly servers: ReadonlyArray<Timed<McpServer>>
  /**
   * Which commands may be started, and which hosts may be reached. A server that it does not name ends the start
   * (`McpServerRefused`).
   */
  readonly allow: McpAllow
}

/** A declaration of a server is invalid or not allowed. The start fails, and the message says the fix. */
export class McpServerRefused extends Schema.TaggedError<McpServerRefused>()("McpServerRefused", {
  /** The namespace of the server. */
  server: Schema.String,
  /** The member of its declaration at fault. */
  field: Schema.String,
  /** What is wrong with it, and what to write instead. */
  message: Schema.String
}) {}

const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : JSON.stringify(text))

/**
 * The canonical text of a command: program, arguments, and in parentheses the directory and the names of variables, never
 * their values. Two servers with the same text differ in those values only.
 */
export const commandLine = (server: McpStdioServer): string => {
  const names = (label: string, all: ReadonlyArray<string>) =>
    all.length === 0 ? [] : [`${label}: ${[...all].sort().map(word).join(" ")}`]
  const around = [
    ...(server.cwd === undefined ? [] : [`cwd: ${word(server.cwd)}`]),
    ...names("env", Object.keys(server.env ?? {})),
    ...names("inherits", server.inherit ?? [])
  ]
  return (
    [server.program, ...(server.args ?? [])].map(word).join(" ") +
    (around.length === 0 ? "" : ` (${around.join("; ")})`)
  )
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host)

const isListed = (url: URL, { hosts = [] }: McpAllow): boolean =>
  hosts.some((host) => host === url.host || host === url.hostname)

const loopback = ["127.0.0.0/8", "::1"].map((text) => Result.getOrThrow(parseAddressRange(text)))

/** Public addresses; loopback, if the URL names it; private ones, if the host is listed. */
export const allowanceOf = (server: McpServer, allow: McpAllow): DialAllowance => {
  const url = server.transport === "http" ? URL.parse(server.url) : null
  return url === null ? { allow: [] } : allowanceAt(url, allow)
}

const allowanceAt = (url: URL, allow: McpAllow): DialAllowance => ({
  allow: isLoopback(url.hostname) ? loopback : [],
  named: isListed(url, allow)
})

/** Those of the issuer, and for what the issuer and the server name public ones over https. Undefined = none. */
export const oauthAllowanceOf = (
  { issuer }: McpOAuth,
  url: URL,
  allow: McpAllow
): DialAllowance | undefined => {
  if (url.origin === new URL(issuer).origin) return allowanceAt(url, allow)
  const named = isListed(url, allow)
  return url.protocol === "https:" && (named || allow.hosts === undefined)
    ? { allow: [], named }
    : undefined
}

/** The greatest number of servers of one runtime. */
export const servers_max = 64

const refusalOfUrl = (text: string, allow: McpAllow): string | undefined => {
  if (!URL.canParse(text)) return "it is not an absolute URL"
  const url = new URL(text)
  if (url.username !== "" || url.password !== "") {
    return "credentials do not belong into a URL: give them as token or headers"
  }
  if (url.hash !== "") return "a URL of a server has no fragment"
  const isLocal = isLoopback(url.hostname)
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal)) {
    return "it must be https, or http on loopback"
  }
  if (allow.hosts !== undefined && !isListed(url, allow)) {
    return `its host is not allowed: add ${JSON.stringify(url.host)} to allow.hosts`
  }
  const address = literalAddress(url)
  if (address !== undefined && !mayDial(address, allowanceAt(url, allow))) {
    return isMetadataAddress(address)
      ? "its address is the metadata service of a cloud, which is no server of tools"
      : `its address is not public: add ${JSON.stringify(url.host)} to allow.hosts`
  }
  return undefined
}

const connect_timeout_ms_max = 3_600_000

/** How long a connection to the server may take, in ms. */
export const connectTimeout = ({ connect_timeout_ms, transport }: McpServer): number =>
  connect_timeout_ms ?? (transport === "stdio" ? 60_000 : 20_000)

/** The error for a server that may not be started or reached, which says the fix; undefined if it may. */
export const serverRefusalOf = (
  server: McpServer,
  allow: McpAllow
): McpServerRefused | undefined => {
  const refused = (field: string, message: string) =>
    new McpServerRefused({ server: server.namespace, field, message })
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(server.namespace)) {
    return refused("namespace", "1 to 64 letters, digits, _ or -")
  }
  for (const field of [
    "timeout_ms",
    "total_ms",
    "connect_timeout_ms",
    "message_bytes_max",
    "calls_max"
  ] as const) {
    const value = server[field]
    if (value !== undefined && !(Number.isInteger(value) && value > 0)) {
      return refused(field, "it must be a positive whole number")
    }
  }
  // A timer takes a longer time for 1 ms.
  if ((server.connect_timeout_ms ?? 0) > connect_timeout_ms_max) {
    return refused("connect_timeout_ms", `it must be at most ${connect_timeout_ms_max}`)
  }
  if (server.transport === "http") {
    const { oauth, token } = server
    if (oauth !== undefined && token !== undefined)
      return refused("oauth", "it is in place of token")
    if (oauth?.client_secret === undefined && oauth !== undefined && oauth.refresh === undefined) {
      return refused("oauth", "it needs a client_secret or a refresh token")
    }
    const urls = { url: server.url, ...(oauth === undefined ? {} : { issuer: oauth.issuer }) }
    for (const [field, url] of Object.entries(urls)) {
      const why = refusalOfUrl(url, allow)
      if (why !== undefined) return refused(field, why)
    }
    return undefined
  }
  const line = commandLine(server)
  return (allow.commands ?? []).includes(line)
    ? undefined
    : refused(
        "program",
        `nobody allowed this command: add ${JSON.stringify(line)} to allow.commands`
      )
}

/** The bounds of one call: without a word of the server's, and in all. */
export interface CallTimes {
  /** How long the server may be silent, in ms. */
  readonly timeout_ms: number
  /** How long the whole call may take, in ms. */
  readonly total_ms: number
}

const total_ms_max = 3_600_000

/** `declared` is the timeout that the operator declared for the tool. */
export const callTimes = (server: McpServer, declared: Time | undefined): CallTimes => {
  const timeout_ms = Number(milliseconds(declared ?? server.timeout_ms ?? timeout_ms_default))
  const total_ms = server.total_ms ?? Math.min(10 * timeout_ms, total_ms_max)
  return { timeout_ms, total_ms: Math.max(timeout_ms, total_ms) }
}

/** In each form in which an output may quote them. Values under 6 characters would garble texts, and are left out. */
export const secretsOf = (server: McpServer): ReadonlyArray<string> => {
  const given: ReadonlyArray<unknown> =
    server.transport === "stdio"
      ? Object.values(server.env ?? {})
      : [...Object.values(server.headers ?? {}), server.token, server.oauth?.client_secret]
  return secretForms(
    given
      .filter((value) => Redacted.isRedacted(value))
      .map((value) => String(Redacted.value(value)))
      .filter((value) => value.length >= 6)
  )
}
