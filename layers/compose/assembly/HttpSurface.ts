/** The HTTP surface of a runtime, on a server of its own or mounted in another. */
import * as NodeCrypto from "@effect/platform-node-shared/NodeCrypto"
import { Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import { HttpServer } from "effect/http"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { Credential } from "../../runtime/directory/TokenCredentials.ts"
import * as TokenCredentials from "../../runtime/directory/TokenCredentials.ts"
import * as HttpSettings from "../../http/boundary/HttpSettings.ts"
import * as HttpService from "../../http/server/HttpService.ts"
import * as MountedServer from "../../http/server/MountedServer.ts"
import * as NodeServer from "../../http/server/NodeServer.ts"
import * as UnhostedTelemetry from "../../telemetry/UnhostedTelemetry.ts"
import * as ProcessTelemetry from "../../telemetry/ProcessTelemetry.ts"
import * as StandingTelemetry from "../../telemetry/StandingTelemetry.ts"
import type { Checked } from "../options/CheckedServerOptions.ts"
import { checkRouteOptions, checkServerOptions } from "../options/CheckedServerOptions.ts"
import { checkCustomerAgents } from "../../service/CustomerRules.ts"
import { featureLayer } from "./FeatureLayer.ts"
import { Served } from "./ServedHttp.ts"
import type { Options } from "../options/ServerOptions.ts"
import type { RouteOptions } from "../options/ServerOptions.ts"

/** What the surface needs, whichever server it runs on: its bounds, tokens and randomness. */
const surfaceServices = (
  settings: HttpSettings.HttpSettings,
  credentials: ReadonlyArray<Credential>
) =>
  Layer.mergeAll(
    Layer.succeed(HttpSettings.HttpSettings, settings),
    TokenCredentials.layer(credentials)
  ).pipe(Layer.provideMerge(Layer.merge(NodeCrypto.layerDigest, SecureRandom.layerWebCrypto)))

/** The surface with its bounds and tokens, over a server that the caller provides. */
const surface = (settings: HttpSettings.HttpSettings, credentials: ReadonlyArray<Credential>) =>
  HttpService.layer.pipe(Layer.provide(surfaceServices(settings, credentials)))

const make = Effect.fnUntraced(function* (options: Options) {
  const { credentials, listen, settings } = yield* checkServerOptions(options)
  const agents = (yield* AgentDirectory).all.map(({ spec }) => spec)
  yield* checkCustomerAgents(settings.customer_agents, agents, "settings.customer_agents")
  return surface(settings, credentials).pipe(
    // The gauges and warnings of the service itself.
    Layer.merge(UnhostedTelemetry.layer),
    Layer.merge(StandingTelemetry.layer),
    Layer.merge(ProcessTelemetry.layer),
    Layer.provideMerge(NodeServer.layer(listen))
  )
})

const served = (listens: boolean) =>
  Layer.effect(
    Served,
    Effect.gen(function* () {
      const { node: nodeListener, web: handler } = yield* MountedServer.Mounted
      const { address } = yield* HttpServer.HttpServer
      const url = listens ? HttpServer.formatAddress(address).replace(/\/$/, "") : undefined
      return { url, nodeListener, handler }
    })
  )

/**
 * The surface of a service that `start` starts: as functions to mount and, if a port is given, also as a server that listens.
 * Needs the ports of a runtime and its stores.
 */
export const mounted = ({ credentials, listen, settings }: Checked) =>
  served(listen !== undefined).pipe(
    Layer.merge(surface(settings, credentials)),
    Layer.provide(MountedServer.layer),
    Layer.provide(listen === undefined ? MountedServer.services : NodeServer.layer(listen))
  )

/**
 * An HTTP server with the API. Needs the ports of a runtime and its stores; provides the server, whose address has the actual
 * port. Fails with `InvalidInput` and its field if an option is unknown or of a wrong type.
 */
export const layer = (options: Options) => Layer.unwrap(make(options))

const makeRoutes = Effect.fnUntraced(function* (options: RouteOptions) {
  const { console, credentials, settings } = yield* checkRouteOptions(options)
  const agents = (yield* AgentDirectory).all.map(({ spec }) => spec)
  yield* checkCustomerAgents(settings.customer_agents, agents, "settings.customer_agents")
  const routes = HttpService.amongOthers.pipe(Layer.provide(surfaceServices(settings, credentials)))
  if (console === undefined) return routes
  const { consoleFeature } = yield* Effect.promise(() => import("./ConsoleFeature.ts"))
  return Layer.provide(routes, featureLayer(yield* consoleFeature(console)))
})

/**
 * The routes of the API with their handlers, for an `HttpRouter` that has other routes: merge them with its layers below
 * `HttpRouter.serve`. Needs the ports of a runtime and its stores. The paths are `/v1/...`, `/health`, `/ready`, `/metrics`
 * and those of the console, if it is asked for; all other paths are left to the router's other routes.
 */
export const routes = (options: RouteOptions) => Layer.unwrap(makeRoutes(options))
