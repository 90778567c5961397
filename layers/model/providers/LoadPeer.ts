/**
 * Loads optional peer dependencies: packages that are loaded when they are chosen, and may not be installed.
 */
import { Effect } from "effect"
import { ModelError } from "../../../services/ModelGateway.ts"

const absent = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error
    ? error.code === "ERR_MODULE_NOT_FOUND" || error.code === "MODULE_NOT_FOUND"
    : false

/** Loads an optional peer. Fails with a message that says how to install it. */
export const loadPeer = <A>(name: string, load: () => Promise<A>): Effect.Effect<A, ModelError> =>
  Effect.tryPromise({
    try: load,
    catch: (error) =>
      new ModelError({
        kind: "configuration",
        message: absent(error)
          ? `the package ${name} is not installed: npm install ${name}`
          : `the package ${name} cannot be loaded: is its version the one that this package asks for?`
      })
  })
