/**
 * Bytes that a step writes, fence and projections included, against the rows alone; and whether a long run writes more.
 */
import { bounds } from "./Bounds.ts"
import type { Line, Row, Sample } from "./Row.ts"
import { ratio, sample } from "./Row.ts"
import { withPostgres } from "./Server.ts"

interface Samples {
  readonly samples: ReadonlyArray<Sample>
}

const linesOf = (engine: string, { samples }: Samples): ReadonlyArray<Line> => {
  const unit = "bytes of log a step"
  const line = (history: string) =>
    ratio(
      {
        row: `bytes, ${engine}, history ${Number(history).toLocaleString("en")}`,
        unit,
        against: "group commit by hand of the same rows, no fence",
        bound: bounds.bytes
      },
      samples,
      samples,
      `ours_${history}`,
      `lower_${history}`
    )
  return [
    line("10"),
    line("1000"),
    ratio(
      {
        row: `bytes, ${engine}, history 1,000 against 10`,
        unit,
        against: "the same journal at history 10",
        bound: bounds.bytesFlat
      },
      samples,
      samples,
      "ours_1000",
      "ours_10"
    )
  ]
}

export const row: Row = {
  name: "bytes",
  lines: async ({ rounds = 7 }) => [
    ...linesOf(
      "PostgreSQL",
      await withPostgres((url) => sample<Samples>("bytes", "postgres", [url, String(rounds)]))
    ),
    ...linesOf("PGlite", await sample<Samples>("bytes", "pglite", [String(rounds)]))
  ]
}
