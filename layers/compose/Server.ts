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
import { checkServerOptions } from "./CheckedServerOptions.ts"
import { checkCustomerAgents } from "./CustomerAccess.ts"

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

const make = Effect.fnUntraced(function* (options: Options) {
  const { credentials, listen, settings } = yield* checkServerOptions(options)
  const agents = (yield* AgentDirectory).all.map(({ spec }) => spec)
  yield* checkCustomerAgents(settings.customer_agents, agents, "settings.customer_agents")
  return HttpService.layer.pipe(
    // The gauges and warnings of the service itself.
    Layer.merge(UnhostedTelemetry.layer),
    Layer.merge(UnknownCallsTelemetry.layer),
    Layer.provide(Layer.succeed(HttpSettings.HttpSettings, settings)),
    Layer.provideMerge(NodeServer.layer(listen)),
    Layer.provide(EphemeralCredentials.layer(credentials)),
    Layer.provide(NodeCrypto.layerDigest)
  )
})

/**
 * Needs the ports of a runtime and its stores; gives the server, whose address has the actual port. Fails with
 * `InvalidInput` and its field where an option is unknown or of a wrong type.
 */
export const layer = (options: Options) => Layer.unwrap(make(options))
