/**
 * Importing the embedding entry against importing `effect`, each in a process of its own.
 */
import type { Row } from "./Row.ts"
import { interleave, ratio, sample } from "./Row.ts"

export const row: Row = {
  name: "import",
  lines: async ({ rounds = 15 }) => {
    const samples = await interleave(rounds, ["effect", "embed"], (name) => sample("import", name))
    return [
      ratio(
        {
          row: "import of troupe/embed",
          unit: "CPU ms",
          against: "import of effect",
          bound: { kind: "at most", bound: 1.3, moonshot: 1.2 }
        },
        samples.embed,
        samples.effect,
        "cpu_ms"
      )
    ]
  }
}
