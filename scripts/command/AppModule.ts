/**
 * The module that `--app` names: what it exports are options of `start` of `troupe/embed`.
 */
import { registerHooks } from "node:module"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect } from "effect"
import { Refused } from "./Refused.ts"

/** In a clone the package's entries resolve to the sources, because nothing is compiled. */
const own_conditions = import.meta.filename.endsWith(".ts") ? ["troupe-source"] : []

/**
 * The module's `troupe` and `effect` are those that run here, wherever the module lies: a second copy of either in one
 * process would not know the values of the first.
 */
const resolvingOwn = (): void => {
  registerHooks({
    resolve: (specifier, context, next) =>
      /^(?:troupe|effect)(?:\/|$)/.test(specifier)
        ? next(specifier, {
            ...context,
            parentURL: import.meta.url,
            conditions: [...context.conditions, ...own_conditions]
          })
        : next(specifier, context)
  })
}

/** The names that the module exports. Fails where it cannot be loaded. */
export const loadApp = (file: string): Effect.Effect<Readonly<Record<string, unknown>>, Refused> =>
  Effect.tryPromise({
    try: async () => {
      resolvingOwn()
      const module: object = await import(pathToFileURL(resolve(file)).href)
      return { ...module }
    },
    catch: (error) =>
      new Refused({
        message: `--app ${file} cannot be loaded: ${error instanceof Error ? error.message : "it failed"}`
      })
  })
