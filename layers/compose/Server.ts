/**
 * The HTTP surface over a runtime, on a socket of this machine.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Effect, Layer } from "effect"
import type { Credential } from "../ephemeral/EphemeralCredentials.ts"
import * as EphemeralCredentials from "../ephemeral/EphemeralCredentials.ts"
import * as HttpSettings from "../http/HttpSettings.ts"
import * as HttpService from "../http/HttpService.ts"
import type { Listen } from "../http/NodeServer.ts"
import * as NodeServer from "../http/NodeServer.ts"
import * as UnhostedTelemetry from "../telemetry/UnhostedTelemetry.ts"
import * as UnknownCallsTelemetry from "../telemetry/UnknownCallsTelemetry.ts"

export { HttpSettings } from "../http/HttpSettings.ts"

export interface Options {
  readonly listen: Listen
  readonly credentials: ReadonlyArray<Credential>
  /** The agents that customers speak with, and bounds; what is absent is as `HttpSettings` has it. */
  readonly settings?: Partial<HttpSettings.HttpSettings>
}

/** Needs the ports of a runtime and its stores; gives the server, whose address says the port that was found. */
export const layer = ({ credentials, listen, settings }: Options) =>
  HttpService.layer.pipe(
    // What the service's own metrics show, and what its log warns of.
    Layer.merge(UnhostedTelemetry.layer),
    Layer.merge(UnknownCallsTelemetry.layer),
    Layer.provide(
      Layer.effect(
        HttpSettings.HttpSettings,
        Effect.map(HttpSettings.HttpSettings, (ambient) => ({ ...ambient, ...settings }))
      )
    ),
    Layer.provideMerge(NodeServer.layer(listen)),
    Layer.provide(EphemeralCredentials.layer(credentials)),
    Layer.provide(NodeCrypto.layerDigest)
  )
