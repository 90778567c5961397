/**
 * A thousand runs of ten steps at once, over a model that takes 5 ms a turn: the time of all, and how late a timer is.
 */
import { bounds } from "./Bounds.ts"
import type { Row } from "./Row.ts"
import { inTurn, ratio } from "./Row.ts"
import { sized } from "./Work.ts"

/** Of all runs at once, in each round. */
const trials = sized(2, 15)
const against = "bare Effect loop, schemas compiled on both sides"

export const row: Row = {
  name: "concurrent",
  lines: async ({ rounds = 5 }) => {
    const { bareConcurrent, loopConcurrent } = await inTurn(rounds, trials, {
      bareConcurrent: { row: "concurrent", variant: "bareConcurrent" },
      loopConcurrent: { row: "concurrent", variant: "loopConcurrent" }
    })
    return [
      ratio(
        {
          row: "concurrent, the loop alone, 1,000 runs of 10 steps, 5 ms model",
          unit: "ms",
          against,
          bound: bounds.concurrent
        },
        loopConcurrent,
        bareConcurrent,
        "wall_ms"
      ),
      ratio(
        {
          row: "concurrent, the loop alone, event-loop lag p99",
          unit: "ms",
          against,
          bound: bounds.lag
        },
        loopConcurrent,
        bareConcurrent,
        "lag_ms"
      )
    ]
  }
}
