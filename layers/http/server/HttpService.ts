/**
 * The HTTP surface as one Layer: the API, its documentation, metrics, and the middleware around them. It calls only ports, so no
 * tool body and no loop can be reached from it. It needs a server, for example `NodeServer.layer`.
 */
import { Deferred, Effect, Layer } from "effect"
import { HttpMiddleware, HttpRouter } from "effect/http"
import { HttpApiBuilder, HttpApiSwagger, OpenApi } from "effect/http-api"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { groups } from "../../service/ServiceOperations.ts"
import * as MountPath from "../boundary/MountPath.ts"
import * as Boundary from "../boundary/RequestBoundary.ts"
import * as ChannelRoutes from "./ChannelRoutes.ts"
import * as Derived from "../handlers/DerivedHandlers.ts"
import * as HealthHandlers from "../handlers/HealthHandlers.ts"
import * as ConversationsHandlers from "../handlers/ConversationsHandlers.ts"
import * as EventsHandlers from "../handlers/EventsHandlers.ts"
import * as FilesHandlers from "../handlers/FilesHandlers.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import * as Limits from "../boundary/Limits.ts"
import * as Metrics from "./Metrics.ts"
import * as Outcomes from "./OutermostMiddleware.ts"
import * as Readiness from "../boundary/Readiness.ts"
import * as Routes from "../boundary/Routes.ts"
import * as DraftsHandlers from "../handlers/DraftsHandlers.ts"
import * as RecordsHandlers from "../handlers/RecordsHandlers.ts"

/** The others stream, take bytes or have forms of their own. */
const { conversations: _, events: _events, files: _files, ...derived } = groups

const handlers = Layer.mergeAll(
  Derived.layer(derived),
  ConversationsHandlers.layer,
  HealthHandlers.layer,
  RecordsHandlers.layer,
  DraftsHandlers.layer,
  EventsHandlers.layer,
  FilesHandlers.layer
).pipe(Layer.provide(Boundary.layer), Layer.provide(Limits.layer))

/** The API; its documents say under which path it is. */
const apiAt = (base: string) =>
  base === ""
    ? TroupeApi
    : TroupeApi.annotateMerge(OpenApi.annotations({ servers: [{ url: base }] }))

const routes = (base: string) => {
  const api = apiAt(base)
  return Layer.mergeAll(
    HttpApiBuilder.layer(api, { openapiPath: Routes.openapi_path }),
    HttpApiSwagger.layer(api, { path: Routes.docs_path }),
    Metrics.layer,
    ChannelRoutes.layer,
    Outcomes.layer
  ).pipe(Layer.provide(handlers))
}

const among = Layer.mergeAll(
  HttpApiBuilder.layer(TroupeApi),
  Metrics.layer,
  ChannelRoutes.layer
).pipe(Layer.provide(handlers), Layer.provide(Outcomes.ofRoutes))

const served = Layer.unwrap(
  Effect.map(HttpSettings, ({ base_path }) =>
    HttpRouter.serve(routes(base_path), {
      disableLogger: true,
      disableListenLog: true,
      routerConfig: {
        caseSensitive: true,
        ignoreDuplicateSlashes: false,
        ignoreTrailingSlash: false,
        maxParamLength: Routes.part_max
      },
      // Requests take a shorter path without a middleware.
      ...(base_path === "" ? undefined : { middleware: MountPath.routed(base_path) })
    }).pipe(
      // Health checks are not traced.
      Layer.provide(
        HttpMiddleware.layerTracerDisabledForUrls(
          ["/health", "/ready", Routes.metrics_path].flatMap((path) => [path, base_path + path])
        )
      )
    )
  )
)

/** Built after the server and so closed before it: `/ready` reports the stop while open requests are still being finished. */
const announced = Layer.effectDiscard(
  Effect.flatMap(Readiness.Readiness, (readiness) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        readiness.state = "ready"
      }),
      () =>
        Effect.suspend(() => {
          readiness.state = "stopping"
          return Deferred.succeed(readiness.stopping, undefined)
        })
    )
  )
)

/** The routes alone, for a router that has other routes. The documentation is left to the router's owner. */
export const amongOthers = announced.pipe(Layer.provide(among), Layer.provide(Readiness.layer))

export const layer = announced.pipe(Layer.provide(served), Layer.provide(Readiness.layer))
