/**
 * A service with a heap of 256 MB that is sent 200 runs at once, each with four results of 300 kB: it ends within its heap, in
 * memory and on PGlite.
 */
import type { Line, Row } from "./Row.ts"
import { absolute, sample } from "./Row.ts"
import { sized } from "./Work.ts"

const heap_mega = 256
const runs = sized(10, 200)

const linesOf = async (store: "ephemeral" | "pglite"): Promise<ReadonlyArray<Line>> => {
  const flags = [`--max-old-space-size=${heap_mega}`]
  const samples = [await sample("memory", "crowd", [store, String(runs)], flags)]
  const row = `memory, ${runs} runs at once with 1.2 MB of results each, ${store}`
  const line = (unit: string, measure: string, kind: "at most" | "at least", bound: number) =>
    absolute(
      {
        row,
        unit,
        against: `a heap of ${heap_mega} MB`,
        bound: { kind, bound, moonshot: undefined }
      },
      samples,
      measure
    )
  return [
    line("MB of heap, the most", "peak_mega", "at most", heap_mega),
    line("runs complete", "complete", "at least", runs)
  ]
}

export const row: Row = {
  name: "memory",
  lines: async () => [...(await linesOf("ephemeral")), ...(await linesOf("pglite"))]
}
