/**
 * What a database takes of the disk after 100,000 runs, beside the bytes of their events.
 */
import { bounds } from "./Bounds.ts"
import type { Bound } from "./Bounds.ts"
import type { Line, Row, Sample } from "./Row.ts"
import { ratio, sample } from "./Row.ts"
import { withVacuumedPostgres } from "./Server.ts"
import { sized } from "./Work.ts"

const runs = sized(64, 100_000)

/**
 * By the steps of a run, each with a call; an answer follows them. What a message costs beside its run is most of the shorter
 * ones, which are there to be read beside the others.
 */
const sizes: ReadonlyArray<readonly [steps: number, bound: Bound]> = [
  [10, bounds.disk],
  [1, bounds.diskShort]
]

const onEngine = async (
  engine: string,
  on: string,
  rounds: number
): Promise<ReadonlyArray<Line>> => {
  const lines: Array<Line> = []
  for (const [steps, bound] of sizes) {
    const samples: Array<Sample> = []
    for (let n = 0; n < rounds; n++) {
      samples.push(await sample("disk", "kept", [on, String(runs), String(steps)]))
    }
    const row = `disk, ${runs.toLocaleString("en")} runs of ${steps} ${steps === 1 ? "step" : "steps"}, ${engine}`
    const against = "the bytes of the events of these runs, as JSON"
    lines.push(
      ratio(
        { row, unit: "MB of tables and indexes", against, bound },
        samples,
        samples,
        "tables_mb",
        "events_mb"
      )
    )
    if (on === "pglite") {
      const whole = { row, unit: "MB of the directory, with its log", against, bound: undefined }
      lines.push(ratio(whole, samples, samples, "directory_mb", "events_mb"))
    }
  }
  return lines
}

export const row: Row = {
  name: "disk",
  lines: async ({ rounds = 1 }) => [
    ...(await onEngine("PGlite", "pglite", rounds)),
    ...(await withVacuumedPostgres((url) => onEngine("PostgreSQL", url, rounds)))
  ]
}
