/**
 * What the runtime keeps of a run that waits for a person: one that is parked, and one that is resident.
 */
import { bounds } from "./Bounds.ts"
import type { Row, Sample } from "./Row.ts"
import { absolute, interleave, sample } from "./Row.ts"
import { sized } from "./Work.ts"

const parked_runs = sized(100, 100_000)
/** With a thousand, code that is compiled meanwhile would be a quarter of the figure. */
const asked_runs = sized(50, 4_000)
const resident_runs = sized(100, 2_000)

export const row: Row = {
  name: "waiting",
  lines: async ({ rounds = 1 }) => {
    const samples = await interleave(rounds, ["parked", "resident"], (name) =>
      sample("waiting", name, [String(name === "parked" ? parked_runs : resident_runs)])
    )
    const against = "the heap without the runtime, the store's own records apart"
    const asked = await interleave(rounds, ["ephemeral", "pglite"], (on) =>
      sample("waiting", "asked", [on, String(asked_runs)])
    )
    const after = (where: string, samples: ReadonlyArray<Sample>) =>
      absolute(
        {
          row: `waiting, 2 s after its question, ${where}`,
          unit: "heap bytes a run",
          against: "the heap of a process that has started and served before",
          bound: bounds.waiting
        },
        samples,
        "bytes"
      )
    return [
      after("through send, its records in memory too", asked.ephemeral),
      after("through send, PGlite", asked.pglite),
      absolute(
        {
          row: `waiting, parked, ${parked_runs.toLocaleString("en")} runs`,
          unit: "heap bytes a run",
          against,
          bound: bounds.parked
        },
        samples.parked,
        "bytes"
      ),
      absolute(
        {
          row: `waiting, resident, ${resident_runs.toLocaleString("en")} runs`,
          unit: "heap bytes a run",
          against,
          bound: bounds.parkedResident
        },
        samples.resident,
        "bytes"
      )
    ]
  }
}
