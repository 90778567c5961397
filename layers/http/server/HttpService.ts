/**
 * The HTTP surface as one Layer: the API, its documentation, metrics, and the middleware around them. It calls only ports, so no
 * tool body and no loop can be reached from it. It needs a server, for example `NodeServer.layer`.
 */
import { Deferred, Effect, Layer, Scope } from "effect"
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
import type { RunJournal } from "../../../services/RunJournal.ts"
import type { RunList } from "../../../services/RunList.ts"
import type { SubjectErasure } from "../../../services/SubjectErasure.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
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
import * as DraftsHandlers from "../handlers/DraftsHandlers.ts"
import * as RecordsHandlers from "../handlers/RecordsHandlers.ts"
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

const routes = (base: string) => {
  const api = apiAt(base)
  return Layer.mergeAll(
    HttpApiBuilder.layer(api, { openapiPath: Routes.openapi_path }),
    docs(api),
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
  | RunJournal
  | RunList
  | SubjectErasure
  | TaskStore
  | HttpServer.HttpServer
  | HttpPlatform.HttpPlatform
  | Etag.Generator
  | FileSystem.FileSystem
  | Path.Path
> = announced.pipe(Layer.provide(served), Layer.provide(Readiness.layer))
