/**
 * The durable step on both engines, for one run and for 64 at once. Windows of both sides alternate in one process, over
 * one database; the ratio is of steps a second, so that more is better.
 */
import { bounds } from "./Bounds.ts"
import type { Bound } from "./Bounds.ts"
import type { Line, Row, Sample } from "./Row.ts"
import { ratio, sample } from "./Row.ts"
import { withPostgres } from "./Server.ts"

interface Samples {
  readonly samples: ReadonlyArray<Sample>
}

const linesOf = (engine: "PostgreSQL" | "PGlite", { samples }: Samples): ReadonlyArray<Line> => {
  const at = (writers: number, against: string, bound: Bound) =>
    ratio(
      { row: `durable, ${engine}, ${writers}`, unit: "steps a second", against, bound },
      samples,
      samples,
      `ours_${writers}`,
      `lower_${writers}`
    )
  return [
    at(64, "group commit by hand of the same rows, no fence", bounds.durable),
    at(
      1,
      "one INSERT a step of the same rows, no fence",
      engine === "PGlite" ? bounds.durableOnePglite : bounds.durableOne
    )
  ]
}

export const row: Row = {
  name: "durable",
  lines: async ({ rounds = 9 }) => [
    ...linesOf(
      "PostgreSQL",
      await withPostgres((url) => sample<Samples>("durable", "postgres", [url, String(rounds)]))
    ),
    ...linesOf("PGlite", await sample<Samples>("durable", "pglite", [String(rounds)]))
  ]
}
