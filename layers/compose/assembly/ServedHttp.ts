/** How the HTTP API of a started service is reached. */
import { Context } from "effect"
import type { NodeListener, WebHandler } from "../../http/server/MountedServer.ts"

/** The HTTP API of a service: its own server, and the API to mount in another one. */
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

/** The members of a service that give access to its API. */
export class Served extends Context.Service<Served, HttpMethods>()("troupe/compose/EmbeddedHttp") {}
