/**
 * Tools of configurations of the type `builtin`. A name means a registered tool, or else one that comes along and needs no
 * options: those of `MemoryTools`, `ObservationTools`, `OperationsTools` and `HttpRequestTool`.
 *
 * ```ts
 * Runtime.layer({ agents, tools, resolved: [BuiltinTools.tools([{ type: "builtin", name: "http_request" }])] })
 * ```
 */
import { Effect } from "effect"
import { decodeBuiltins, resolveBuiltins } from "../../../src/call/BuiltinTool.ts"
import type { ToolConfig } from "../../../src/call/ToolConfig.ts"
import type { ToolConfigRefused } from "../../../src/call/ToolConfigRefused.ts"
import type { MisdeclaredTool } from "../../../src/tool/MisdeclaredTool.ts"
import type { ComponentCatalog } from "../../../services/semstreams/ComponentCatalog.ts"
import type { FlowState } from "../../../services/semstreams/FlowState.ts"
import type { LoopStore } from "../../../services/semstreams/LoopStore.ts"
import type { OutboxReader } from "../../../services/OutboxReader.ts"
import type { OutboxReplayer } from "../../../services/OutboxReplayer.ts"
import * as MemoryTools from "../../builtin/MemoryHandlers.ts"
import * as ObservationTools from "../../semstreams/ObservationTools.ts"
import * as OperationsTools from "../../spectral/agents/OperationsTools.ts"
import * as HttpRequestTool from "../../calls/HttpRequestTool.ts"
import type { Resolver } from "../../runtime/directory/LocalToolRegistry.ts"

/** Services that the tools of this package need. */
type BuiltinToolServices = ComponentCatalog | FlowState | LoopStore | OutboxReader | OutboxReplayer

const packagedTools = Effect.map(
  Effect.all([
    MemoryTools.tools,
    ObservationTools.tools,
    OperationsTools.tools,
    HttpRequestTool.tools()
  ]),
  (families) => families.flat()
)

/**
 * Resolves configurations, for the option `resolved` of a runtime. Fails with the first configuration that is of another type, is
 * listed twice, or names no tool or several.
 */
export const tools =
  (
    configs: ReadonlyArray<ToolConfig>
  ): Resolver<ToolConfigRefused | MisdeclaredTool, BuiltinToolServices> =>
  (registered) =>
    Effect.gen(function* () {
      const decoded = yield* Effect.fromResult(decodeBuiltins(configs))
      return yield* Effect.fromResult(resolveBuiltins(decoded, registered, yield* packagedTools))
    })
