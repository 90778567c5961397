/**
 * The HTTP API of a service that `start` starts: a server of its own, functions to mount in another, or both.
 */
import type { Redacted } from "effect"
import { Context, Effect, Layer } from "effect"
import { InvalidInput } from "../../src/entry/InvalidInput.ts"
import type { GivenPrincipal } from "../../src/Principal.ts"
import type { Timed } from "../../src/Times.ts"
import type { HttpSettings } from "../http/HttpSettings.ts"
import type { NodeListener, WebHandler } from "../http/MountedServer.ts"
import type { Listen } from "../http/NodeServer.ts"
import type { Checked } from "./CheckedServerOptions.ts"

/** Who may call the API: a token of at least 16 characters, or its digest, and whom it stands for. */
export interface Token {
  /** The token itself, which is not kept: 32 random bytes, for example. */
  readonly token?: string | Redacted.Redacted
  /** SHA-256 of the token's UTF-8, as 64 hex digits, where this process is not to know the token. */
  readonly sha256?: string
  readonly principal: GivenPrincipal
}

export interface Http extends Timed<Partial<Listen>> {
  /** The port of a server of its own, 0 = any free one. Absent = none: `nodeListener` and `handler` are mounted elsewhere. */
  readonly port?: number
  /** At most 100,000. */
  readonly tokens: ReadonlyArray<Token>
  /** Bounds, and the names of the hosts that are served. Absent settings have the defaults of `HttpSettings`. */
  readonly settings?: Timed<Partial<Omit<HttpSettings, "customer_agents">>>
}

export interface HttpMethods {
  /** The address of the server, for example `http://127.0.0.1:8080`; undefined where none listens. */
  readonly url: string | undefined
  /**
   * The API for `node:http` and what stands on it. Mount it where nothing has read the body, at the root
   * (`/v1/...`) or under the path that `settings.base_path` names. It answers only for the hosts that `settings.hosts` names,
   * and for localhost.
   */
  readonly nodeListener: NodeListener
  /** The same for Web requests. */
  readonly handler: WebHandler
}

const noHttp = () =>
  new InvalidInput({
    field: "http",
    message: "start was not given `http: { tokens }`, which says who may call the API"
  })

/** For a service that was started without HTTP: what is mounted says so at its first request. */
const none: HttpMethods = {
  url: undefined,
  nodeListener: () => {
    throw noHttp()
  },
  handler: () => Promise.reject(noHttp())
}

/** The members of a service by which its API is reached. */
export class Served extends Context.Service<Served, HttpMethods>()("troupe/compose/EmbeddedHttp") {}

/** Loads the surface only where it is asked for. Needs the ports of a runtime and its stores. */
export const layer = (checked: Checked | undefined) =>
  checked === undefined
    ? Layer.succeed(Served, none)
    : Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("./Server.ts")),
          ({ mounted }) => mounted(checked)
        )
      )

export const methods = (services: Context.Context<Served>): HttpMethods =>
  Context.get(services, Served)
