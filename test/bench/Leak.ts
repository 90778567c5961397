/**
 * What 100,000 runs and 10,000 steps leave behind: nothing.
 */
import type { Bound } from "./Bounds.ts"
import { bounds } from "./Bounds.ts"
import type { Line, Row } from "./Row.ts"
import { absolute, sample } from "./Row.ts"
import { sized } from "./Work.ts"

const lines = async (what: "runs" | "steps", total: number): Promise<ReadonlyArray<Line>> => {
  const samples = [await sample("leak", what, [String(total)])]
  const name = `leak, ${total.toLocaleString("en")} ${what}`
  const against = "counted before and after, what the store keeps of ended runs thrown away"
  const line = (unit: string, measure: string, bound: Bound) =>
    absolute({ row: name, unit, against, bound }, samples, measure)
  return [
    line("fibers left", "fibers", bounds.leftNothing),
    line("maps and sets left", "maps", bounds.leftMaps),
    line("timers and handles left", "resources", bounds.leftNothing),
    line("listeners left", "listeners", bounds.leftNothing),
    line(
      `heap bytes a ${what.slice(0, -1)}`,
      "heap_bytes",
      what === "runs" ? bounds.leftOfRun : bounds.leftOfStep
    )
  ]
}

export const row: Row = {
  name: "leak",
  lines: async () => [
    ...(await lines("runs", sized(100, 100_000))),
    ...(await lines("steps", sized(100, 10_000)))
  ]
}
