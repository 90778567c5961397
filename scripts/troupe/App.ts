/**
 * The agents and tools that a run is replayed with: those of `npm start`, or those that a module exports.
 */
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect } from "effect"
import * as OperationsTools from "../../layers/agents/OperationsTools.ts"
import type { App } from "../../layers/compose/Replay.ts"
import type { ForTools } from "../../layers/compose/NodeService.ts"
import { operations } from "../../src/agents/Operations.ts"
import { Refused } from "./Refused.ts"

export type StoredApp = App<unknown, ForTools>

const own: StoredApp = { agents: [operations], tools: [OperationsTools.tools] }

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
        try: (): Promise<unknown> => import(pathToFileURL(resolve(file)).href),
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
