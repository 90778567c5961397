/**
 * 1,000 runs, each watched over a wire by a client of its own, beside as many plain event streams: the CPU of the process that serves
 * them.
 */
import { bounds } from "./Bounds.ts"
import type { Row } from "./Row.ts"
import { interleave, ratio, sample } from "./Row.ts"

const wires = ["ui-messages", "responses"] as const

export const row: Row = {
  name: "wires",
  lines: async ({ rounds = 3 }) => {
    const samples = await interleave(rounds, ["streams", ...wires], (kind) =>
      sample("wires", "ours", [kind])
    )
    return wires.map((wire) =>
      ratio(
        {
          row: `1,000 watched runs over ${wire}, in memory`,
          unit: "CPU ms a second",
          against: "1,000 event streams",
          bound: bounds.wires
        },
        samples[wire],
        samples.streams,
        "cpu_ms"
      )
    )
  }
}
