/**
 * The HTTP surface as one Layer: the API, its documentation, metrics, and the middleware around them. It calls only ports, so no
 * tool body and no loop can be reached from it. It needs a server, for example `NodeServer.layer`.
 */
import { Deferred, Effect, Layer } from "effect"
import type { FileSystem, Path } from "effect"
import type { Digest, SecureRandom } from "effect/crypto"
import type { Etag, HttpPlatform, HttpServer } from "effect/http"
import { HttpMiddleware, HttpRouter } from "effect/http"
import { HttpApiBuilder, HttpApiSwagger, OpenApi } from "effect/http-api"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import type { ApprovalRecords } from "../../../services/ApprovalRecords.ts"
import type { AuthorizationDesk } from "../../../services/AuthorizationDesk.ts"
import type { BlobStore } from "../../../services/BlobStore.ts"
import type { ChannelBindings } from "../../../services/ChannelBindings.ts"
import type { ConversationStore } from "../../../services/ConversationStore.ts"
import type { AccessTokens } from "../../../services/AccessTokens.ts"
import type { CostLedger } from "../../../services/CostLedger.ts"
import type { Credentials } from "../../../services/Credentials.ts"
import type { KillSwitch } from "../../../services/KillSwitch.ts"
import type { Notices as NoticesPort } from "../../../services/Notices.ts"
import type { OutboxReader } from "../../../services/OutboxReader.ts"
import type { OutboxReplayer } from "../../../services/OutboxReplayer.ts"
import type { RunList } from "../../../services/RunList.ts"
import type { RunQuarantine } from "../../../services/RunQuarantine.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import type { SubjectErasure } from "../../../services/SubjectErasure.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"
import type { Authentication } from "../../../src/operation/Boundary.ts"
import type { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { AddedGroup } from "../../service/AddedGroups.ts"
import { AddedGroups, apiWith } from "../../service/AddedGroups.ts"
import * as Approvals from "../../service/ApprovalEffects.ts"
import * as MountPath from "../boundary/MountPath.ts"
import * as Boundary from "../boundary/RequestBoundary.ts"
import * as ClientCalls from "../../service/ClientCallEffects.ts"
import * as ChannelRoutes from "./ChannelRoutes.ts"
import * as Derived from "../handlers/DerivedHandlers.ts"
import * as HealthHandlers from "../handlers/HealthHandlers.ts"
import * as Agents from "../../service/AgentEffects.ts"
import * as Authorizations from "../../service/AuthorizationEffects.ts"
import * as Notices from "../../service/NoticeEffects.ts"
import * as Costs from "../../service/CostEffects.ts"
import * as DeadLetters from "../../service/DeadLetterEffects.ts"
import * as Erasures from "../../service/ErasureEffects.ts"
import * as KillSwitches from "../../service/KillSwitchEffects.ts"
import * as Quarantine from "../../service/QuarantineEffects.ts"
import * as Tokens from "../../service/TokenEffects.ts"
import * as ConversationsHandlers from "../handlers/ConversationsHandlers.ts"
import * as EventsHandlers from "../handlers/EventsHandlers.ts"
import * as FilesHandlers from "../handlers/FilesHandlers.ts"
import { HttpSettings } from "../boundary/HttpSettings.ts"
import * as Limits from "../boundary/Limits.ts"
import * as Metrics from "./Metrics.ts"
import * as Outcomes from "./OutermostMiddleware.ts"
import * as Readiness from "../boundary/Readiness.ts"
import * as Routes from "../boundary/Routes.ts"
import * as Runs from "../../service/RunEffects.ts"

const handlers = Layer.mergeAll(
  ConversationsHandlers.layer,
  Derived.group("runs", {
    cancel: Runs.cancel,
    events: Runs.events,
    get: Runs.get,
    list: Runs.list,
    settle: Runs.settle
  }),
  Derived.group("approvals", {
    decide: Approvals.decide,
    get: Approvals.get,
    list: Approvals.list
  }),
  Derived.group("clientCalls", ClientCalls),
  HealthHandlers.layer,
  Derived.group("agents", Agents),
  Derived.group("authorizations", Authorizations),
  Derived.group("notices", Notices),
  Derived.group("costs", Costs),
  Derived.group("deadLetters", DeadLetters),
  Derived.group("erasures", Erasures),
  Derived.group("killSwitch", KillSwitches),
  Derived.group("quarantine", Quarantine),
  Derived.group("tokens", Tokens),
  EventsHandlers.layer,
  FilesHandlers.layer
).pipe(Layer.provide(Boundary.layer), Layer.provide(Limits.layer))

/**
 * The handlers of the groups that features add. A feature's Layer provides the stores that they need together with the groups, so
 * that no type has to name them.
 */
const addedHandlers = (api: typeof TroupeApi, groups: ReadonlyArray<AddedGroup>) =>
  groups
    .map(
      ({ effects, id }) =>
        Derived.group(id as never, effects, api) as Layer.Layer<never, never, Authentication>
    )
    .reduce((all, each) => Layer.merge(all, each), Layer.empty as Layer.Layer<never>)
    .pipe(Layer.provide(Boundary.layer), Layer.provide(Limits.layer))

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
        Layer.provide(Layer.merge(handlers, addedHandlers(api, groups)))
      )
    })
  )

const routes = (base: string) =>
  withApi(base, (api) =>
    Layer.mergeAll(
      HttpApiBuilder.layer(api, { openapiPath: Routes.openapi_path }),
      HttpApiSwagger.layer(api, { path: Routes.docs_path }),
      Metrics.layer,
      ChannelRoutes.layer,
      Outcomes.layer
    )
  )

const among = withApi("", (api) =>
  Layer.mergeAll(HttpApiBuilder.layer(api), Metrics.layer, ChannelRoutes.layer)
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

export const layer: Layer.Layer<
  never,
  never,
  | AccessTokens
  | AgentDirectory
  | AgentRuntime
  | ApprovalDesk
  | ApprovalRecords
  | BlobStore
  | AuthorizationDesk
  | ChannelBindings
  | ConversationStore
  | CostLedger
  | Credentials
  | Digest.Digest
  | SecureRandom.SecureRandom
  | KillSwitch
  | NoticesPort
  | OutboxReader
  | OutboxReplayer
  | RunQuarantine
  | RunReader
  | RunList
  | SubjectErasure
  | TaskStore
  | HttpServer.HttpServer
  | HttpPlatform.HttpPlatform
  | Etag.Generator
  | FileSystem.FileSystem
  | Path.Path
> = announced.pipe(Layer.provide(served), Layer.provide(Readiness.layer))
