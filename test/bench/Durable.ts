/**
 * The durable step on both engines, for one run and for 64 at once. Windows of both sides alternate in one process, over
 * one database; the ratio is of steps a second, so that more is better.
 */
import type { Bound, Line, Row, Sample } from "./Row.ts"
import { ratio, sample } from "./Row.ts"
import { withPostgres } from "./Server.ts"

interface Samples {
  readonly samples: ReadonlyArray<Sample>
}

const bounds: Readonly<Record<"PostgreSQL" | "PGlite", readonly [one: number, group: number]>> = {
  PostgreSQL: [0.6, 0.5],
  PGlite: [0.4, 0.5]
}

const linesOf = (engine: "PostgreSQL" | "PGlite", { samples }: Samples): ReadonlyArray<Line> => {
  const [one, group] = bounds[engine]
  const at = (writers: number, against: string, bound: Bound) =>
    ratio(
      { row: `durable, ${engine}, ${writers}`, unit: "steps a second", against, bound },
      samples,
      samples,
      `ours_${writers}`,
      `lower_${writers}`
    )
  return [
    at(64, "group commit by hand of the same rows, no fence", {
      kind: "at least",
      bound: group,
      moonshot: 0.7
    }),
    at(1, "one INSERT a step of the same rows, no fence", {
      kind: "at least",
      bound: one,
      moonshot: 0.75
    })
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
