/**
 * What the runtime keeps of a run that waits for a person: one that left the process, and one that is still in it.
 */
import type { Row } from "./Row.ts"
import { absolute, interleave, sample } from "./Row.ts"

const evicted_runs = 100_000
const resident_runs = 2_000

export const row: Row = {
  name: "parked",
  lines: async ({ rounds = 1 }) => {
    const samples = await interleave(rounds, ["evicted", "resident"], (name) =>
      sample("parked", name, [String(name === "evicted" ? evicted_runs : resident_runs)])
    )
    const against = "the heap without the runtime, the store's own records apart"
    return [
      absolute(
        {
          row: `parked, evicted, ${evicted_runs.toLocaleString("en")} runs`,
          unit: "heap bytes a run",
          against,
          bound: { kind: "at most", bound: 400, moonshot: 200 }
        },
        samples.evicted,
        "bytes"
      ),
      absolute(
        {
          row: `parked, resident, ${resident_runs.toLocaleString("en")} runs`,
          unit: "heap bytes a run",
          against,
          bound: { kind: "at most", bound: 10_000, moonshot: undefined }
        },
        samples.resident,
        "bytes"
      )
    ]
  }
}
