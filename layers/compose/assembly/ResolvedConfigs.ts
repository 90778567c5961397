/**
 * Makes the tools of the option `toolConfigs`, each type in the folder that runs it. The modules of a type are loaded only if
 * there are configurations of it.
 */
import { Effect } from "effect"
import { decodeBuiltins } from "../../../src/call/BuiltinTool.ts"
import type { ToolConfig, ToolConfigRefused } from "../../../src/call/ToolConfig.ts"
import { decodeToolConfigs, refuseConfig } from "../../../src/call/ToolConfig.ts"
import type { MisdeclaredTool } from "../../../src/tool/MisdeclaredTool.ts"
import type { GovernedTool } from "../../../src/tool/GovernedTool.ts"
import type { Resolver } from "../../runtime/directory/LocalToolRegistry.ts"
import type * as CodeTool from "../../builtin/CodeTool.ts"
import type * as ConfiguredTools from "../../calls/ConfiguredTools.ts"
import type { ToolServices } from "../options/ServiceOptions.ts"

/** The option `toolConfigs`, with its time as a number. */
export type ToolConfigs = ConfiguredTools.Options & Pick<CodeTool.Options, "secrets">

/** The configurations of a type that one folder runs. */
const ofType = (configs: ReadonlyArray<ToolConfig>, type: string): ReadonlyArray<ToolConfig> =>
  configs.filter((config) => "type" in config && config.type === type)

const non_platform_types = ["builtin", "client", "code"]
const callsPlatform = (config: ToolConfig): boolean =>
  !("type" in config) || !non_platform_types.includes(config.type)

const configuredOf = Effect.fnUntraced(function* (
  { secrets = {}, ...calling }: ToolConfigs,
  configs: ReadonlyArray<ToolConfig>
) {
  const code = ofType(configs, "code")
  const platform = yield* Effect.promise(() => import("../../calls/ConfiguredTools.ts"))
  const called = yield* platform.tools({ ...calling, tools: configs.filter(callsPlatform) })
  const ClientTools = yield* Effect.promise(() => import("../../builtin/ClientTools.ts"))
  const answered = yield* ClientTools.tools({ tools: ofType(configs, "client") })
  const tools: ReadonlyArray<GovernedTool> = [...called, ...answered]
  if (code.length === 0) return tools
  const scripts = yield* Effect.promise(() => import("../../builtin/CodeTool.ts"))
  return [...tools, ...(yield* scripts.tools({ secrets, tools: code }))]
})

/** The errors of tools that are made from registered ones. */
export type ResolverError = ToolConfigRefused | MisdeclaredTool

export interface Resolved {
  readonly tools: ReadonlyArray<GovernedTool>
  /** Functions that make tools from registered ones. */
  readonly resolvers: ReadonlyArray<Resolver<ResolverError, ToolServices>>
  /** The names by which an agent uses the tools, in no order. */
  readonly names: ReadonlyArray<string>
}

/** Resolves the configurations before anything is opened. No two of them may have the same name. */
export const resolveConfigs = Effect.fnUntraced(function* (given: ToolConfigs | undefined) {
  const none: Resolved = { tools: [], resolvers: [], names: [] }
  if (given === undefined) return none
  // Copies of all configurations, in the order in which errors count them.
  const configs = yield* Effect.fromResult(decodeToolConfigs(given.tools))
  const tools = yield* configuredOf(given, configs)
  const builtin = yield* Effect.fromResult(decodeBuiltins(ofType(configs, "builtin")))
  const names = new Set<string>()
  for (const name of [...tools.map(({ spec }) => spec.name), ...builtin.map((b) => b.name)]) {
    if (names.has(name)) {
      return yield* refuseConfig("DuplicateTool", name, "two tools have this name")
    }
    names.add(name)
  }
  const resolved: Resolved = { tools, resolvers: [], names: [...names] }
  if (builtin.length === 0) return resolved
  const BuiltinTools = yield* Effect.promise(() => import("./BuiltinTools.ts"))
  return { ...resolved, resolvers: [BuiltinTools.tools(builtin)] }
})
