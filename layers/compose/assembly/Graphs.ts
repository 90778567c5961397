/**
 * Graphs as an application gives them: loaded or as texts. The YAML reader is loaded only if there is a text.
 */
import { Effect } from "effect"
import type { ToolGraph } from "../../../src/graph/ToolGraph.ts"

/** Reads the graphs, in their order. Fails with the first text that is not a graph. */
export const read = Effect.fnUntraced(function* (given: ReadonlyArray<string | ToolGraph>) {
  const loaded: Array<ToolGraph> = []
  for (const graph of given) {
    if (typeof graph !== "string") loaded.push(graph)
    else {
      const GraphText = yield* Effect.promise(() => import("../../builtin/GraphText.ts"))
      loaded.push(yield* GraphText.read(graph))
    }
  }
  return loaded
})
