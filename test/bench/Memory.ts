/**
 * A service with a heap of 256 MB that is sent 200 runs at once, each with four results of 300 kB: it ends within its heap, in
 * memory and on PGlite.
 */
import { bounds } from "./Bounds.ts"
import type { Line, Row } from "./Row.ts"
import { absolute, sample } from "./Row.ts"
import { sized } from "./Work.ts"

const heap_mega = bounds.memoryHeap.promise
const runs = sized(10, 200)

const linesOf = async (store: "ephemeral" | "pglite"): Promise<ReadonlyArray<Line>> => {
  const flags = [`--max-old-space-size=${heap_mega}`]
  const samples = [await sample("memory", "crowd", [store, String(runs)], flags)]
  const row = `memory, ${runs} runs at once with 1.2 MB of results each, ${store}`
  const against = `a heap of ${heap_mega} MB`
  const left = samples.map(({ complete }) => ({ left: runs - complete! }))
  return [
    absolute(
      { row, unit: "MB of heap, the most", against, bound: bounds.memoryHeap },
      samples,
      "peak_mega"
    ),
    absolute(
      { row, unit: "runs that are not complete", against, bound: bounds.memoryLeft },
      left,
      "left"
    )
  ]
}

export const row: Row = {
  name: "memory",
  lines: async () => [...(await linesOf("ephemeral")), ...(await linesOf("pglite"))]
}
