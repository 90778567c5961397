/**
 * The HTTP surface over a runtime, with Node's HTTP server.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Effect, Layer } from "effect"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import type { Credential } from "../ephemeral/EphemeralCredentials.ts"
import * as EphemeralCredentials from "../ephemeral/EphemeralCredentials.ts"
import * as HttpSettings from "../http/HttpSettings.ts"
import * as HttpService from "../http/HttpService.ts"
import type { Listen } from "../http/NodeServer.ts"
import * as NodeServer from "../http/NodeServer.ts"
import * as UnhostedTelemetry from "../telemetry/UnhostedTelemetry.ts"
import * as UnknownCallsTelemetry from "../telemetry/UnknownCallsTelemetry.ts"
import { checkCustomerAgents } from "./CustomerWall.ts"

export { HttpSettings } from "../http/HttpSettings.ts"

export interface Options {
  readonly listen: Listen
  readonly credentials: ReadonlyArray<Credential>
  /**
   * The agents for customers, and bounds; absent settings have the defaults of `HttpSettings`. A name in
   * `customer_agents` that no agent of the runtime has is `InvalidInput`.
   */
  readonly settings?: Partial<HttpSettings.HttpSettings>
}

/** Needs the ports of a runtime and its stores; gives the server, whose address has the actual port. */
export const layer = ({ credentials, listen, settings }: Options) =>
  HttpService.layer.pipe(
    // The gauges and warnings of the service itself.
    Layer.merge(UnhostedTelemetry.layer),
    Layer.merge(UnknownCallsTelemetry.layer),
    Layer.provide(
      Layer.effect(
        HttpSettings.HttpSettings,
        Effect.gen(function* () {
          const given = { ...(yield* HttpSettings.HttpSettings), ...settings }
          const names = (yield* AgentDirectory).all.map(({ spec }) => spec.name)
          yield* checkCustomerAgents(given.customer_agents, names, "settings.customer_agents")
          return given
        })
      )
    ),
    Layer.provideMerge(NodeServer.layer(listen)),
    Layer.provide(EphemeralCredentials.layer(credentials)),
    Layer.provide(NodeCrypto.layerDigest)
  )
