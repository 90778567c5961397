/**
 * The agents and tools that a run is replayed with: those of `npm start`, or those that a module exports.
 */
import { Effect } from "effect"
import * as OperationsTools from "../../layers/agents/OperationsTools.ts"
import type { App } from "../../layers/compose/Replay.ts"
import type { ToolServices } from "../../layers/compose/NodeService.ts"
import { operations } from "../../src/agents/Operations.ts"
import { loadApp } from "../command/AppModule.ts"
import { Refused } from "../command/Refused.ts"

type StoredApp = App<unknown, ToolServices>

const own: StoredApp = { agents: [operations], tools: [OperationsTools.tools] }

const isApp = (
  module: Readonly<Record<string, unknown>>
): module is Readonly<Record<string, unknown>> & StoredApp =>
  Array.isArray(module["agents"]) && Array.isArray(module["tools"])

/** What the module exports as `agents`, `graphs` and `tools`: the lists that `start` of `troupe/embed` takes. */
export const appOf = (file: string | undefined): Effect.Effect<StoredApp, Refused> =>
  file === undefined
    ? Effect.succeed(own)
    : loadApp(file).pipe(
        Effect.filterOrFail(
          isApp,
          () => new Refused({ message: `--app ${file} exports no lists "agents" and "tools"` })
        )
      )
