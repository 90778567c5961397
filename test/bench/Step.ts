/**
 * The in-process step of the loop alone: one model turn and one governed read, JSON kept.
 */
import { bounds } from "./Bounds.ts"
import type { Row } from "./Row.ts"
import { inTurn, ratio } from "./Row.ts"
import { slices } from "./Work.ts"

export const row: Row = {
  name: "step",
  lines: async ({ rounds = 7 }) => {
    const samples = await inTurn(rounds, slices, {
      bare: { row: "step", variant: "bare" },
      loop: { row: "step", variant: "loop" }
    })
    return [
      ratio(
        {
          row: "step of the loop alone",
          unit: "CPU us a step",
          against: "bare Effect loop, schemas compiled on both sides",
          bound: bounds.step
        },
        samples.loop,
        samples.bare,
        "cpu_us"
      )
    ]
  }
}
