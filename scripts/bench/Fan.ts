/**
 * One turn that asks for many calls at once, per call; the runtime runs 16 of them at a time, the lower bound all.
 */
import type { Row } from "./Row.ts"
import { interleave, ratio, sample } from "./Row.ts"

const against = "bare Effect loop, schema interpreter, unbounded"

export const row: Row = {
  name: "fan",
  lines: async ({ rounds = 5 }) => {
    const line = async (calls: number, moonshot: number | undefined) => {
      const samples = await interleave(rounds, ["bareFan", "loopFan"], (name) =>
        sample("fan", name, [String(calls)])
      )
      return ratio(
        {
          row: `fan, ${calls} parallel calls`,
          unit: "CPU us a call",
          against,
          bound: { kind: "at most", bound: 4, moonshot }
        },
        samples.loopFan,
        samples.bareFan,
        "cpu_us"
      )
    }
    return [await line(100, 2), await line(1_000, undefined)]
  }
}
