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

/** Makes tools of those that are registered, such as one under another permission. */
export type Resolver<E, R> = (registered: Registry.Registry<AgentMemory>) => Family<E, R>

export type Plugin<E, R> = ToolPlugin.ToolPlugin<AgentMemory, E, R>

/** Tools that others may replace: a family, or one under a manifest. */
export type Shared<E, R> = Family<E, R> | Plugin<E, R>

export interface Sources<E, R> {
  /** The runtime's own: they replace shared ones of the same plain name. */
  readonly tools: ReadonlyArray<Family<E, R>>
  readonly shared?: ReadonlyArray<Shared<E, R>>
  /** In turn: the tools of each take the place of those before that have their plain names. */
  readonly resolved?: ReadonlyArray<Resolver<E, R>>
}

const isFamily = <E, R>(shared: Shared<E, R>): shared is Family<E, R> => Effect.isEffect(shared)
const isPlugin = <E, R>(shared: Shared<E, R>): shared is Plugin<E, R> => !isFamily(shared)

const gathered = <E, R>(families: ReadonlyArray<Family<E, R>>) =>
  Effect.flatMap(Effect.all(families), (tools) => Registry.make(tools.flat()))

const make = Effect.fnUntraced(function* <E, R>(sources: Sources<E, R>) {
  const { resolved = [], shared = [], tools } = sources
  const families = yield* gathered(shared.filter(isFamily))
  const beneath = yield* ToolPlugin.loadPlugins(families, shared.filter(isPlugin))
  let registry = Registry.shadow(beneath, yield* gathered(tools))
  for (const resolve of resolved) {
    registry = Registry.shadow(registry, yield* gathered([resolve(registry)]))
  }
  return registry
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
