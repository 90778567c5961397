/**
 * A recall among 100,000 memories of one workspace on PostgreSQL, through the gateway, beside the bare query of its words.
 */
import { bounds } from "./Bounds.ts"
import type { Row, Sample } from "./Row.ts"
import { absolute, ratio, sample } from "./Row.ts"
import { withPostgres } from "./Server.ts"

export const row: Row = {
  name: "recall",
  lines: async ({ rounds = 3 }) => {
    const { samples } = await withPostgres((url) =>
      sample<{ readonly samples: ReadonlyArray<Sample> }>("recall", "postgres", [
        url,
        String(rounds)
      ])
    )
    const row = "recall, PostgreSQL, 100,000 rows of a workspace"
    const against = "the newest rows of each word, by one statement written by hand"
    return [
      absolute(
        {
          row,
          unit: "ms at the 99th percentile",
          against: "none",
          bound: bounds.recall
        },
        samples,
        "ours_p99_ms"
      ),
      ratio(
        { row, unit: "ms, median", against, bound: undefined },
        samples,
        samples,
        "ours_ms",
        "bare_ms"
      )
    ]
  }
}
