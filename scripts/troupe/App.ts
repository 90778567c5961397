/**
 * The agents and tools that a run is replayed with: those of `npm start`, or those that a module exports.
 */
import { Effect } from "effect"
import * as OperationsTools from "../../layers/spectral/agents/OperationsTools.ts"
import type { App } from "../../layers/compose/entries/Replay.ts"
import type { ToolServices } from "../../layers/compose/options/ServiceOptions.ts"
import { operations } from "../../src/spectral/agents/Operations.ts"
import { loadApp } from "../command/AppModule.ts"
import { Refused } from "../command/Refused.ts"

type StoredApp = App<unknown, ToolServices>

const own: StoredApp = { agents: [operations], tools: [OperationsTools.tools] }

/** Why these are no exports of an application. What is no Effect would end the command without a word. */
const wrongIn = ({ agents, tools }: Readonly<Record<string, unknown>>): string | undefined => {
  if (!Array.isArray(agents)) return 'no list "agents"'
  if (!Array.isArray(tools)) return '"tools", which is no list'
  const odd = tools.findIndex((tool) => !Effect.isEffect(tool))
  return odd < 0 ? undefined : `tools.${odd}, which neither tool nor govern nor remote made`
}

/** What the module exports as `agents`, `graphs` and `tools`: the lists that `start` of `troupe/embed` takes. */
export const appOf = Effect.fnUntraced(function* (
  file: string | undefined
): Effect.fn.Return<StoredApp, Refused> {
  if (file === undefined) return own
  const exported = { tools: [], ...(yield* loadApp(file)) }
  const wrong = wrongIn(exported)
  if (wrong !== undefined) {
    return yield* new Refused({ message: `--app ${file} exports ${wrong}` })
  }
  return exported as unknown as StoredApp
})
