/**
 * A registry that is built once, from the tools that it is given. A duplicate key fails the start.
 */
import { Effect, Layer } from "effect"
import type { GovernedTool } from "../../../src/tool/GovernedTool.ts"
import type { DuplicateTool, EmptyFamily } from "../../../src/tool/Registry.ts"
import * as Registry from "../../../src/tool/Registry.ts"
import type { PluginRefused } from "../../../src/tool/ToolPlugin.ts"
import * as ToolPlugin from "../../../src/tool/ToolPlugin.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"

/** Tools that are built together, with the services that their handlers need. */
export type Family<E, R> = Effect.Effect<ReadonlyArray<GovernedTool<AgentMemory>>, E, R>

export type Plugin<E, R> = ToolPlugin.ToolPlugin<AgentMemory, E, R>

export interface Sources<E, R> {
  /** The runtime's own: they replace shared tools and plugins of the same plain name. */
  readonly tools: ReadonlyArray<Family<E, R>>
  readonly shared?: ReadonlyArray<Family<E, R>>
  readonly plugins?: ReadonlyArray<Plugin<E, R>>
}

const gathered = <E, R>(families: ReadonlyArray<Family<E, R>>) =>
  Effect.flatMap(Effect.all(families), (tools) => Registry.make(tools.flat()))

const make = Effect.fnUntraced(function* <E, R>(sources: Sources<E, R>) {
  const { plugins = [], shared = [], tools } = sources
  const beneath = yield* ToolPlugin.loadPlugins(yield* gathered(shared), plugins)
  return Registry.shadow(beneath, yield* gathered(tools))
})

/** Families and plugins are built in the layer's scope; what they need is what the layer needs. */
export const layerFrom = <E, R>(
  sources: Sources<E, R>
): Layer.Layer<ToolRegistry, E | DuplicateTool | EmptyFamily | PluginRefused, R> =>
  Layer.effect(ToolRegistry, make(sources))

/** The same of families alone, each with needs of its own. */
export const layer = <Families extends ReadonlyArray<Family<unknown, unknown>>>(
  ...families: Families
): Layer.Layer<
  ToolRegistry,
  Effect.Error<Families[number]> | DuplicateTool,
  Effect.Services<Families[number]>
> =>
  Layer.effect(
    ToolRegistry,
    gathered(
      families as ReadonlyArray<
        Family<Effect.Error<Families[number]>, Effect.Services<Families[number]>>
      >
    )
  )
