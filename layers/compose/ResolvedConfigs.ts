/**
 * Tools of configurations, each by the room that runs its type. What runs them is loaded only where there are some.
 */
import { Effect, Result } from "effect"
import { memberOf } from "../../src/call/BodyPath.ts"
import { decodeBuiltins } from "../../src/call/BuiltinTool.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import { refuseConfig } from "../../src/call/ToolConfigRefused.ts"
import { readJsonValue } from "../../src/entry/BoundedJson.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import type { Resolver } from "../runtime/desk/LocalToolRegistry.ts"
import type { ForTools, Options } from "./NodeService.ts"

/** One that cannot be read is of no type here: its resolver says what is wrong with it. */
const isOf =
  (type: string) =>
  (config: ToolConfig): boolean => {
    const read = readJsonValue(config)
    return Result.isSuccess(read) && memberOf(read.success, "type") === type
  }

type Configs = Options["toolConfigs"]

const configuredOf = async (configs: Configs): Promise<ReadonlyArray<GovernedTool>> => {
  if (configs === undefined) return []
  const { secrets = {}, tools, ...calling } = configs
  const code = tools.filter(isOf("code"))
  const client = tools.filter(isOf("client"))
  const others = ["code", "builtin", "client"].map(isOf)
  const calls = tools.filter((config) => !others.some((is) => is(config)))
  const ConfiguredTools = await import("../calls/ConfiguredTools.ts")
  const called = await Effect.runPromise(ConfiguredTools.tools({ ...calling, tools: calls }))
  const ClientTools = await import("../agents/ClientTools.ts")
  const answered = await Effect.runPromise(ClientTools.tools({ tools: client }))
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
export const resolveConfigs = async (configs: Configs): Promise<Resolved> => {
  const tools = await configuredOf(configs)
  const builtin = await Effect.runPromise(
    Effect.fromResult(decodeBuiltins(configs?.tools.filter(isOf("builtin")) ?? []))
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
