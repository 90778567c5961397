/**
 * The options of the HTTP API: for a service of `start`, for a server of its own, and for routes in an application's router.
 */
import type { Redacted } from "effect"
import type { PrincipalInput } from "../../../src/principal/Principal.ts"
import type { Timed } from "../../../src/value/Times.ts"
import type { Credential } from "../../runtime/directory/TokenCredentials.ts"
import type { OpenIdOptions } from "../../console/OpenIdOptions.ts"
import type { HttpSettings } from "../../http/boundary/HttpSettings.ts"
import type { Listen } from "../../http/server/NodeServer.ts"

/** A token that may call the API, with at least 16 characters, or its digest, and the principal that it stands for. */
export interface Token {
  /** The token itself, for example 32 random bytes: at least 16 characters. It is not stored. Absent = `sha256` is given. */
  readonly token?: string | Redacted.Redacted
  /** SHA-256 of the token's UTF-8, as 64 hex digits, if this process should not know the token. Absent = `token` is given. */
  readonly sha256?: string
  /** Who calls with this token, and what it may do. */
  readonly principal: PrincipalInput
}

/** The HTTP API: its tokens, its port and its bounds. */
export interface Http extends Timed<Partial<Listen>> {
  /**
   * The port of the service's own server, 0 to 65,535; 0 = any free port. Absent = no server: `nodeListener` and `handler` are
   * mounted elsewhere.
   */
  readonly port?: number
  /** The tokens that may call the API from the start, with their principals; at most 100,000. */
  readonly tokens: ReadonlyArray<Token>
  /** Bounds, and the host names that are served: the members of `HttpSettings`. Absent = its defaults. */
  readonly settings?: Timed<Partial<Omit<HttpSettings, "customer_agents">>>
  /** Whether the console is served at `/console`, for people with a token and the right `inspect`; or its settings. Absent = no. */
  readonly console?: boolean | ConsoleOptions
}

/** Where the console is served, and who signs people in besides tokens. */
export interface ConsoleOptions {
  /** Its path below that of the API, such as `/ops`: parts of letters, digits, - and _. Absent = `/console`. */
  readonly path?: string
  /** Sign-in by an identity provider that speaks OpenID Connect. Absent = people sign in with tokens alone. */
  readonly openid?: Timed<OpenIdOptions>
}

export interface Options {
  /** Where the server listens: `port` is needed. */
  readonly listen: Timed<Listen>
  /** The tokens that may call the API, by their digests; at most 100,000. */
  readonly credentials: ReadonlyArray<Credential>
  /**
   * The agents for customers, and bounds. Absent settings have the defaults of `HttpSettings`. Fails with `InvalidInput` if
   * `customer_agents` has a name that no agent of the runtime has.
   */
  readonly settings?: Timed<Partial<HttpSettings>>
}

/** Options for routes in a router of the application, at their own paths: `/v1/...`. */
export interface RouteOptions extends Pick<Options, "credentials"> {
  readonly settings?: Timed<Partial<Omit<HttpSettings, "base_path">>>
  /** Whether the console is among the routes, at `/console`; or its settings. Absent = no. */
  readonly console?: boolean | ConsoleOptions
}
