/**
 * The agents and tools that a run is replayed with: those of `npm start`, or those that a module exports.
 */
import { registerHooks } from "node:module"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect } from "effect"
import * as OperationsTools from "../../layers/agents/OperationsTools.ts"
import type { App } from "../../layers/compose/Replay.ts"
import type { ForTools } from "../../layers/compose/NodeService.ts"
import { operations } from "../../src/agents/Operations.ts"
import { Refused } from "./Refused.ts"

type StoredApp = App<unknown, ForTools>

const own: StoredApp = { agents: [operations], tools: [OperationsTools.tools] }

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

const isApp = (module: unknown): module is StoredApp =>
  typeof module === "object" &&
  module !== null &&
  "agents" in module &&
  "tools" in module &&
  Array.isArray(module.agents) &&
  Array.isArray(module.tools)

/** What the module exports as `agents` and `tools`: the lists that `start` of `troupe/embed` takes. */
export const appOf = (file: string | undefined): Effect.Effect<StoredApp, Refused> =>
  file === undefined
    ? Effect.succeed(own)
    : Effect.tryPromise({
        try: (): Promise<unknown> => {
          resolvingOwn()
          return import(pathToFileURL(resolve(file)).href)
        },
        catch: (error) =>
          new Refused({
            message: `--app ${file} cannot be loaded: ${error instanceof Error ? error.message : "it failed"}`
          })
      }).pipe(
        Effect.filterOrFail(
          isApp,
          () => new Refused({ message: `--app ${file} exports no lists "agents" and "tools"` })
        )
      )
