/**
 * What 100,000 runs and 10,000 steps leave behind: nothing.
 */
import type { Line, Row } from "./Row.ts"
import { absolute, sample } from "./Row.ts"
import { sized } from "./Work.ts"

const lines = async (what: "runs" | "steps", total: number): Promise<ReadonlyArray<Line>> => {
  const samples = [await sample("leak", what, [String(total)])]
  const name = `leak, ${total.toLocaleString("en")} ${what}`
  const against = "counted before and after, what the store keeps of ended runs thrown away"
  const line = (unit: string, measure: string, bound: number) =>
    absolute(
      { row: name, unit, against, bound: { kind: "at most", bound, moonshot: undefined } },
      samples,
      measure
    )
  return [
    line("fibers left", "fibers", 0),
    line("maps and sets left", "maps", 20),
    line("timers and handles left", "resources", 0),
    line("listeners left", "listeners", 0),
    line(`heap bytes a ${what.slice(0, -1)}`, "heap_bytes", what === "runs" ? 20 : 100)
  ]
}

export const row: Row = {
  name: "leak",
  lines: async () => [
    ...(await lines("runs", sized(100, 100_000))),
    ...(await lines("steps", sized(100, 10_000)))
  ]
}
