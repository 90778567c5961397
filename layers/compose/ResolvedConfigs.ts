/**
 * Tools of configurations, each by the room that runs its type. What runs them is loaded only where there are some.
 */
import { Effect } from "effect"
import { decodeBuiltins } from "../../src/call/BuiltinTool.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import { decodeToolConfigs } from "../../src/call/ToolConfig.ts"
import { refuseConfig } from "../../src/call/ToolConfigRefused.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import type { Resolver } from "../runtime/desk/LocalToolRegistry.ts"
import type { ForTools, Options } from "./NodeService.ts"

type Configs = NonNullable<Options["toolConfigs"]>

/** Those of a type, which one room runs. */
const ofType = (configs: ReadonlyArray<ToolConfig>, type: string): ReadonlyArray<ToolConfig> =>
  configs.filter((config) => "type" in config && config.type === type)

const elsewhere = ["builtin", "client", "code"]
const callsPlatform = (config: ToolConfig): boolean =>
  !("type" in config) || !elsewhere.includes(config.type)

const configuredOf = async (
  { secrets = {}, ...calling }: Configs,
  configs: ReadonlyArray<ToolConfig>
): Promise<ReadonlyArray<GovernedTool>> => {
  const code = ofType(configs, "code")
  const ConfiguredTools = await import("../calls/ConfiguredTools.ts")
  const called = await Effect.runPromise(
    ConfiguredTools.tools({ ...calling, tools: configs.filter(callsPlatform) })
  )
  const ClientTools = await import("../agents/ClientTools.ts")
  const answered = await Effect.runPromise(ClientTools.tools({ tools: ofType(configs, "client") }))
  if (code.length === 0) return [...called, ...answered]
  const CodeTool = await import("../agents/CodeTool.ts")
  const scripts = await Effect.runPromise(CodeTool.tools({ secrets, tools: code }))
  return [...called, ...answered, ...scripts]
}

export interface Resolved {
  readonly tools: ReadonlyArray<GovernedTool>
  /** What makes tools of those that are registered. */
  readonly resolvers: ReadonlyArray<Resolver<unknown, ForTools>>
  /** By which an agent names them, in no order. */
  readonly names: ReadonlyArray<string>
}

/** Resolves them before anything is opened. No two have one name. Rejects with `ToolConfigRefused` or `InvalidInput`. */
export const resolveConfigs = async (given: Options["toolConfigs"]): Promise<Resolved> => {
  if (given === undefined) return { tools: [], resolvers: [], names: [] }
  // Copies of all of them, in the order in which errors count them.
  const configs = await Effect.runPromise(Effect.fromResult(decodeToolConfigs(given.tools)))
  const tools = await configuredOf(given, configs)
  const builtin = await Effect.runPromise(
    Effect.fromResult(decodeBuiltins(ofType(configs, "builtin")))
  )
  const names = new Set<string>()
  for (const name of [...tools.map(({ spec }) => spec.name), ...builtin.map((b) => b.name)]) {
    if (names.has(name)) throw refuseConfig("DuplicateTool", name, "two tools have this name")
    names.add(name)
  }
  if (builtin.length === 0) return { tools, resolvers: [], names: [...names] }
  const BuiltinTools = await import("./BuiltinTools.ts")
  return { tools, resolvers: [BuiltinTools.tools(builtin)], names: [...names] }
}
