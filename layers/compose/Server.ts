/**
 * The HTTP surface over a runtime, on a socket of this machine.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { Layer } from "effect"
import type { Credential } from "../ephemeral/EphemeralCredentials.ts"
import * as EphemeralCredentials from "../ephemeral/EphemeralCredentials.ts"
import * as HttpService from "../http/HttpService.ts"
import type { Listen } from "../http/NodeServer.ts"
import * as NodeServer from "../http/NodeServer.ts"

export interface Options {
  readonly listen: Listen
  readonly credentials: ReadonlyArray<Credential>
}

/** Needs the ports of a runtime and its stores; gives the server, whose address says the port that was found. */
export const layer = ({ credentials, listen }: Options) =>
  HttpService.layer.pipe(
    Layer.provideMerge(NodeServer.layer(listen)),
    Layer.provide(EphemeralCredentials.layer(credentials)),
    Layer.provide(NodeCrypto.layerDigest)
  )
