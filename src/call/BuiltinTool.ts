/**
 * Configurations of the type `builtin`. Each names a tool that the runtime already has, by its plain name, and may set its
 * permission.
 */
import { Result } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import type { GovernedTool } from "../tool/GovernedTool.ts"
import type { Registry } from "../tool/Registry.ts"
import type { BuiltinTool, ToolConfigRefused } from "./ToolConfig.ts"
import { decodeToolConfig, refuseConfig } from "./ToolConfig.ts"

const names_units_max = 2_000

/** Fails with the first that cannot be read, has another type, repeats a name, or both allows calls and needs approval. */
export const decodeBuiltins = (
  configs: ReadonlyArray<unknown>
): Result.Result<ReadonlyArray<BuiltinTool>, ToolConfigRefused> => {
  const found = new Map<string, BuiltinTool>()
  for (const [at, value] of configs.entries()) {
    const decoded = decodeToolConfig(value, `tools.${at}`)
    if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
    const config = decoded.success
    if ("kind" in config || config.type !== "builtin") {
      return Result.fail(refuseConfig("InvalidToolConfig", `tools.${at}`, "it is no builtin"))
    }
    if (found.has(config.name)) {
      return Result.fail(refuseConfig("DuplicateTool", config.name, "it is listed twice"))
    }
    if (config.needs_approval === true && config.permission === "allow") {
      const problem = "needs_approval and the permission allow exclude each other"
      return Result.fail(refuseConfig("InvalidToolConfig", config.name, problem))
    }
    found.set(config.name, config)
  }
  return Result.succeed([...found.values()])
}

const unknownTool = (name: string, known: Iterable<string>): ToolConfigRefused => {
  const names = [...new Set(known)].sort().join(", ")
  return refuseConfig(
    "UnknownTool",
    name,
    names === ""
      ? "no tool has this name, and none is known"
      : `no tool has this name. Known: ${truncateUnits(names, names_units_max)}`
  )
}

/** The tool with the permission that its configuration sets. Without one, the tool is unchanged. */
const permitted = <R>(
  tool: GovernedTool<R>,
  { needs_approval, permission = needs_approval === true ? "ask" : undefined }: BuiltinTool
): GovernedTool<R> =>
  permission === undefined ? tool : { ...tool, spec: { ...tool.spec, permission } }

/** First among the registered ones, then in `along`. Fails if a name means several tools, or none, with the known names. */
export const resolveBuiltins = <R, R2>(
  configs: ReadonlyArray<BuiltinTool>,
  registered: Pick<Registry<R>, "list" | "resolve">,
  along: ReadonlyArray<GovernedTool<R2>>
): Result.Result<ReadonlyArray<GovernedTool<R | R2>>, ToolConfigRefused> => {
  const tools: Array<GovernedTool<R | R2>> = []
  for (const config of configs) {
    const found = registered.resolve(config.name)
    if (Result.isSuccess(found)) {
      tools.push(permitted(found.success, config))
      continue
    }
    if (found.failure._tag === "AmbiguousTool") {
      const keys = truncateUnits(found.failure.candidates.join(", "), names_units_max)
      const problem = `several tools have this name: ${keys}`
      return Result.fail(refuseConfig("DuplicateTool", config.name, problem))
    }
    const other = along.find(({ spec }) => spec.name === config.name)
    if (other === undefined) {
      const known = [...registered.list(), ...along].map(({ spec }) => spec.name)
      return Result.fail(unknownTool(config.name, known))
    }
    tools.push(permitted(other, config))
  }
  return Result.succeed(tools)
}
