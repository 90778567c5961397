/**
 * Importing the embedding entry against importing what it uses of Effect, each in a process of its own: as its users do, who get
 * JavaScript and not the sources.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { bounds } from "./Bounds.ts"
import type { Row } from "./Row.ts"
import { interleave, ratio, sample } from "./Row.ts"

const path = (relative: string) => fileURLToPath(new URL(`../../${relative}`, import.meta.url))

/** Compiles the package beneath `node_modules`, where it finds what it depends on. */
const build = (): string => {
  const root = path("node_modules/.cache/troupe-bench")
  const { status, stdout } = spawnSync(
    process.execPath,
    [
      path("node_modules/typescript/bin/tsc"),
      "--project",
      path(".config/tsconfig.build.json"),
      "--outDir",
      root,
      "--declaration",
      "false",
      "--sourceMap",
      "false"
    ],
    { encoding: "utf8" }
  )
  if (status !== 0) throw new Error(`the package does not compile:\n${stdout.slice(0, 2_000)}`)
  return root
}

export const row: Row = {
  name: "import",
  lines: async ({ rounds = 15 }) => {
    const root = build()
    const samples = await interleave(rounds, ["effect", "embed", "started"], (name) =>
      sample("import", name, [root])
    )
    const unit = "CPU ms"
    const against = "import of what it uses of Effect"
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
