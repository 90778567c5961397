/**
 * A step late in a long run against a step of a short one: what a step costs must not grow with what came before.
 */
import type { Row } from "./Row.ts"
import { interleave, ratio, sample } from "./Row.ts"

export const row: Row = {
  name: "history",
  lines: async ({ rounds = 5 }) => {
    const samples = await interleave(rounds, ["10", "1000"], (steps) =>
      sample("history", "loopHistory", [steps])
    )
    return [
      ratio(
        {
          row: "history, run of 1,000 steps",
          unit: "CPU us a step",
          against: "the same loop in runs of 10 steps",
          bound: { kind: "at most", bound: 1.3, moonshot: 1.1 }
        },
        samples["1000"],
        samples["10"],
        "cpu_us"
      )
    ]
  }
}
