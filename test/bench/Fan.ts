/**
 * One turn that asks for many calls at once, per call; the runtime runs 16 of them at a time, the lower bound all.
 */
import type { Bound } from "./Bounds.ts"
import { bounds } from "./Bounds.ts"
import type { Row } from "./Row.ts"
import { inTurn, ratio } from "./Row.ts"
import { slices } from "./Work.ts"

const against = "bare Effect loop, schemas compiled on both sides, unbounded"

export const row: Row = {
  name: "fan",
  lines: async ({ rounds = 5 }) => {
    const line = async (calls: number, bound: Bound) => {
      const args = [String(calls)]
      const samples = await inTurn(rounds, slices, {
        bareFan: { row: "fan", variant: "bareFan", args },
        loopFan: { row: "fan", variant: "loopFan", args }
      })
      return ratio(
        {
          row: `fan of the loop alone, ${calls} parallel calls`,
          unit: "CPU us a call",
          against,
          bound
        },
        samples.loopFan,
        samples.bareFan,
        "cpu_us"
      )
    }
    return [await line(100, bounds.fan), await line(1_000, bounds.fanWide)]
  }
}
