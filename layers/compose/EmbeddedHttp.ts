/**
 * The HTTP API of a service that `start` starts: on a server of its own, as functions to mount in another server, or both.
 */
import type { Redacted } from "effect"
import { Context, Effect, Layer } from "effect"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import type { PrincipalInput } from "../../src/principal/Principal.ts"
import type { Timed } from "../../src/value/Times.ts"
import type { HttpSettings } from "../http/HttpSettings.ts"
import type { NodeListener, WebHandler } from "../http/MountedServer.ts"
import type { Listen } from "../http/NodeServer.ts"
import type { Checked } from "./CheckedServerOptions.ts"

/** A token that may call the API, with at least 16 characters, or its digest, and the principal that it stands for. */
export interface Token {
  /** The token itself, for example 32 random bytes. It is not stored. */
  readonly token?: string | Redacted.Redacted
  /** SHA-256 of the token's UTF-8, as 64 hex digits, if this process should not know the token. */
  readonly sha256?: string
  readonly principal: PrincipalInput
}

export interface Http extends Timed<Partial<Listen>> {
  /**
   * The port of the service's own server; 0 = any free port. Absent = no server: `nodeListener` and `handler` are mounted
   * elsewhere.
   */
  readonly port?: number
  /** The tokens that may call the API; at most 100,000. */
  readonly tokens: ReadonlyArray<Token>
  /** Bounds, and the host names that are served. Absent settings have the defaults of `HttpSettings`. */
  readonly settings?: Timed<Partial<Omit<HttpSettings, "customer_agents">>>
}

export interface HttpMethods {
  /** The address of the server, for example `http://127.0.0.1:8080`; undefined if there is no server. */
  readonly url: string | undefined
  /**
   * The API for `node:http` and frameworks that use it. Mount it where nothing has read the body yet, at the root (`/v1/...`) or
   * under the path that `settings.base_path` names. It answers only for the hosts that `settings.hosts` names, and for localhost.
   */
  readonly nodeListener: NodeListener
  /** The API for Web requests, under the same conditions. */
  readonly handler: WebHandler
}

const noHttp = () =>
  new InvalidInput({
    field: "http",
    message: "start was not given `http: { tokens }`, which says who may call the API"
  })

/** For a service that was started without HTTP: what is mounted fails with that reason at its first request. */
const none: HttpMethods = {
  url: undefined,
  nodeListener: () => {
    throw noHttp()
  },
  handler: () => Promise.reject(noHttp())
}

/** The members of a service that give access to its API. */
export class Served extends Context.Service<Served, HttpMethods>()("troupe/compose/EmbeddedHttp") {}

/** Loads the HTTP surface only if it is asked for. Needs the ports of a runtime and its stores. */
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
