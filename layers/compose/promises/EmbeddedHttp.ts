/**
 * The HTTP API of a service that `start` starts: on a server of its own, as functions to mount in another server, or both.
 */
import { Context, Effect, Layer } from "effect"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { Checked } from "../options/CheckedServerOptions.ts"
import type { HttpMethods } from "../assembly/ServedHttp.ts"
import { Served } from "../assembly/ServedHttp.ts"

const noHttp = () =>
  new InvalidInput({
    field: "http",
    reason: "start was not given `http: { tokens }`, which says who may call the API"
  })

/** For a service that was started without HTTP: what is mounted fails with that reason at its first request. */
const none: HttpMethods = {
  url: undefined,
  nodeListener: () => {
    throw noHttp()
  },
  handler: () => Promise.reject(noHttp())
}

/** Loads the HTTP surface only if it is asked for. Needs the ports of a runtime and its stores. */
export const layer = (checked: Checked | undefined) =>
  checked === undefined
    ? Layer.succeed(Served, none)
    : Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("../assembly/HttpSurface.ts")),
          ({ mounted }) => mounted(checked)
        )
      )

export const methods = (services: Context.Context<Served>): HttpMethods =>
  Context.get(services, Served)
