/**
 * Graphs as an application gives them: loaded, or as texts, for which the reader of YAML is loaded where there is one.
 */
import { Effect } from "effect"
import type { ToolGraph } from "../../src/graph/ToolGraph.ts"

/** In their order. Fails with the first text that is no graph. */
export const read = Effect.fnUntraced(function* (given: ReadonlyArray<string | ToolGraph>) {
  const loaded: Array<ToolGraph> = []
  for (const graph of given) {
    if (typeof graph !== "string") loaded.push(graph)
    else {
      const GraphText = yield* Effect.promise(() => import("../agents/GraphText.ts"))
      loaded.push(yield* GraphText.read(graph))
    }
  }
  return loaded
})
