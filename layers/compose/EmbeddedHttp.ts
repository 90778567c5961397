/**
 * The HTTP API of a service that `start` starts: on a server of its own, as functions to mount in another server, or both.
 */
import { Context, Effect, Layer } from "effect"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import type { NodeListener, WebHandler } from "../http/MountedServer.ts"
import type { Checked } from "./CheckedServerOptions.ts"

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
