/**
 * The HTTP surface as one Layer: the API, its documentation, metrics, and the middleware around them. It calls only ports, so no
 * tool body and no loop can be reached from it. It needs a server, for example `NodeServer.layer`.
 */
import { Context, Deferred, Effect, Layer, Scope } from "effect"
import { HttpMiddleware, HttpRouter, HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSwagger, OpenApi } from "effect/http-api"
import type { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { apiWith } from "../../service/AddedApi.ts"
import { AddedGroups } from "../../service/AddedGroups.ts"
import { groups } from "../../service/ServiceOperations.ts"
import { AddedPages } from "../boundary/AddedPages.ts"
import type { Surface } from "../boundary/AddedPages.ts"
import * as MountPath from "../boundary/MountPath.ts"
import { anyProblemOf } from "../boundary/Problems.ts"
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
import * as StoreFaults from "../boundary/StoreFaults.ts"
import * as Wires from "../wires/Wires.ts"
import * as StreamHost from "../stream/StreamHost.ts"
import * as EventStream from "../stream/EventStream.ts"

/** The others stream, take bytes or have forms of their own. */
const { conversations: _, events: _events, files: _files, ...derived } = groups

const handlers = Layer.mergeAll(
  Derived.layer(derived),
  ConversationsHandlers.layer,
  HealthHandlers.layer,
  EventsHandlers.layer,
  FilesHandlers.layer
)

/** The API with the groups that were added; its documents say under which path it is. */
const withApi = <E, R>(
  base: string,
  layerOf: (api: typeof TroupeApi) => Layer.Layer<never, E, R>
) =>
  Layer.unwrap(
    Effect.map(AddedGroups, (groups) => {
      const api = apiWith(groups)
      const documented =
        base === "" ? api : api.annotateMerge(OpenApi.annotations({ servers: [{ url: base }] }))
      return layerOf(documented as typeof TroupeApi).pipe(
        Layer.provide(Layer.merge(handlers, Derived.added(api, groups))),
        Layer.provide(Boundary.layer),
        Layer.provide(StreamHost.layer),
        Layer.provide(Limits.layer)
      )
    })
  )

/** The page's script has 2 MB: it is loaded when somebody first asks for the page. */
const docs = (api: typeof TroupeApi) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const path = Routes.docs_path
      const scope = yield* Effect.scope
      const page = HttpRouter.toHttpEffect(HttpApiSwagger.layer(api, { path }))
      // A reader who goes away ends it for nobody else.
      const once = yield* Effect.cached(Effect.uninterruptible(Scope.provide(page, scope)))
      yield* router.add("GET", path, Effect.flatten(once))
    })
  )

/** The pages beside the API. A router that takes a path with a slash behind it for the same refuses it as a second route. */
const pages = (ignoresSlash: boolean) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const { base_path, body_bytes_max } = yield* HttpSettings
      const limits = yield* Limits.Limits
      const streams = yield* StreamHost.StreamHost
      const services = yield* Effect.context<never>()
      const surface: Surface = {
        admit: limits.request,
        signIn: limits.signIn,
        message: limits.message,
        share: limits.page,
        stream: Effect.fnUntraced(function* (principal, texts, goesOn) {
          const opened = yield* streams.openWhile(principal, goesOn)
          const request = yield* HttpServerRequest.HttpServerRequest
          return EventStream.responseOf(EventStream.bytesOfTexts(texts, opened), request)
        }),
        problemOf: anyProblemOf,
        log: StoreFaults.makeLog(),
        baseOf: (request) => MountPath.linkBase(request, base_path),
        body_bytes_max
      }
      for (const { answer, method, path } of yield* AddedPages) {
        if (ignoresSlash && path.endsWith("/")) continue
        // The services of the program, as `AddedPage` says. What the request has is its own.
        const page = answer(surface) as Effect.Effect<never>
        const withServices = (own: Context.Context<never>) => Context.merge(services, own)
        yield* router.add(method, path, Effect.updateContext(page, withServices))
      }
    })
  )

const routes = (base: string) =>
  withApi(base, (api) =>
    Layer.mergeAll(
      pages(false),
      Wires.layer,
      HttpApiBuilder.layer(api, { openapiPath: Routes.openapi_path }),
      docs(api),
      Metrics.layer,
      ChannelRoutes.layer,
      Outcomes.layer
    )
  )

const among = withApi("", (api) =>
  Layer.mergeAll(
    pages(true),
    Wires.layer,
    HttpApiBuilder.layer(api),
    Metrics.layer,
    ChannelRoutes.layer
  )
).pipe(Layer.provide(Outcomes.ofRoutes))

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
