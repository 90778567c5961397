/**
 * Importing the embedding entry against importing `effect`, each in a process of its own: as its users do, who get the package as
 * it is built and not the sources.
 */
import { fileURLToPath } from "node:url"
import { bounds } from "./Bounds.ts"
import { build } from "../../scripts/build.ts"
import type { Row } from "./Row.ts"
import { interleave, ratio, sample } from "./Row.ts"

/** Beneath `node_modules`, where it finds what it depends on. */
const root = fileURLToPath(new URL("../../node_modules/.cache/troupe-bench", import.meta.url))

export const row: Row = {
  name: "import",
  lines: async ({ rounds = 15 }) => {
    await build(root, false)
    const samples = await interleave(rounds, ["effect", "embed", "started"], (name) =>
      sample("import", name, [root])
    )
    const unit = "CPU ms"
    const against = "import of effect"
    return [
      ratio(
        {
          row: "import of troupe/embed",
          unit,
          against,
          bound: bounds.import
        },
        samples.embed,
        samples.effect,
        "cpu_ms"
      ),
      ratio(
        { row: "import, with what start loads", unit, against, bound: undefined },
        samples.started,
        samples.effect,
        "cpu_ms"
      )
    ]
  }
}
