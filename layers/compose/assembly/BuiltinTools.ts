/**
 * Tools of configurations of the type `builtin`. A name means a registered tool, or else one that comes along and needs no
 * options: those of `MemoryTools` and `HttpRequestTool`.
 */
import { Effect } from "effect"
import { decodeBuiltins, resolveBuiltins } from "../../../src/call/BuiltinTool.ts"
import type { ToolConfig, ToolConfigRefused } from "../../../src/call/ToolConfig.ts"
import type { MisdeclaredTool } from "../../../src/tool/MisdeclaredTool.ts"
import * as MemoryTools from "../../builtin/MemoryHandlers.ts"
import * as HttpRequestTool from "../../calls/HttpRequestTool.ts"
import type { Resolver } from "../../runtime/directory/LocalToolRegistry.ts"

const packagedTools = Effect.map(
  Effect.all([MemoryTools.tools, HttpRequestTool.tools()]),
  (families) => families.flat()
)

/**
 * Resolves configurations, for the option `resolved` of a runtime. Fails with the first configuration that is of another type, is
 * listed twice, or names no tool or several.
 */
export const tools =
  (configs: ReadonlyArray<ToolConfig>): Resolver<ToolConfigRefused | MisdeclaredTool, never> =>
  (registered) =>
    Effect.gen(function* () {
      const decoded = yield* Effect.fromResult(decodeBuiltins(configs))
      return yield* Effect.fromResult(resolveBuiltins(decoded, registered, yield* packagedTools))
    })
