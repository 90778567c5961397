/**
 * The in-process step: one model turn and one governed read, JSON kept.
 */
import type { Row } from "./Row.ts"
import { inTurn, ratio } from "./Row.ts"
import { slices } from "./Work.ts"

const unit = "CPU us a step"
const against = "bare Effect loop, schema interpreter"

export const row: Row = {
  name: "step",
  lines: async ({ rounds = 7 }) => {
    const samples = await inTurn(rounds, slices, {
      bare: { row: "step", variant: "bare" },
      loop: { row: "step", variant: "loop" },
      runtime: { row: "step", variant: "runtime" }
    })
    return [
      ratio(
        {
          row: "step",
          unit,
          against,
          bound: { kind: "at most", bound: 4, moonshot: 3 }
        },
        samples.loop,
        samples.bare,
        "cpu_us"
      ),
      ratio(
        { row: "step, with its actor, task and outbox", unit, against, bound: undefined },
        samples.runtime,
        samples.bare,
        "cpu_us"
      )
    ]
  }
}
