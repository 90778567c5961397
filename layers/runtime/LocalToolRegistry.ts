/**
 * A registry that is a value: built once from the tools it is given, and injected. A duplicate key ends the start.
 */
import { Effect, Layer, Schema } from "effect"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"

type Governed = GovernedTool<AgentMemory>

/** Two tools of one registry have the same key. */
export class DuplicateTool extends Schema.TaggedError<DuplicateTool>()("DuplicateTool", {
  key: Schema.String
}) {}

const make = Effect.fnUntraced(function* (tools: ReadonlyArray<Governed>) {
  const byKey = new Map<string, Governed>()
  const byName = new Map<string, Array<Governed>>()
  for (const tool of tools) {
    if (byKey.has(tool.key)) return yield* new DuplicateTool({ key: tool.key })
    byKey.set(tool.key, tool)
    const named = byName.get(tool.spec.name)
    if (named === undefined) byName.set(tool.spec.name, [tool])
    else named.push(tool)
  }
  const all = [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
  return ToolRegistry.of({
    all,
    get: (name) => {
      const exact = byKey.get(name)
      if (exact !== undefined) return exact
      const named = byName.get(name)
      return named?.length === 1 ? named[0] : undefined
    }
  })
})

/** `families` are built in the layer's scope; what they need is what the layer needs. */
export const layer = <E, R>(
  ...families: ReadonlyArray<Effect.Effect<ReadonlyArray<Governed>, E, R>>
): Layer.Layer<ToolRegistry, E | DuplicateTool, R> =>
  Layer.effect(
    ToolRegistry,
    Effect.flatMap(Effect.all(families), (tools) => make(tools.flat()))
  )
