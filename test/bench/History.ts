/**
 * A step late in a long run against a step of a short one: what a step costs must not grow with what came before.
 */
import { bounds } from "./Bounds.ts"
import type { Row } from "./Row.ts"
import { inTurn, ratio } from "./Row.ts"
import { slices } from "./Work.ts"

export const row: Row = {
  name: "history",
  lines: async ({ rounds = 5 }) => {
    const samples = await inTurn(rounds, slices, {
      short: { row: "history", variant: "loopHistory", args: ["10"] },
      long: { row: "history", variant: "loopHistory", args: ["1000"] }
    })
    return [
      ratio(
        {
          row: "history, run of 1,000 steps",
          unit: "CPU us a step",
          against: "the same loop in runs of 10 steps",
          bound: bounds.history
        },
        samples.long,
        samples.short,
        "cpu_us"
      )
    ]
  }
}
