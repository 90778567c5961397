/**
 * Pages of the console at 100,000 runs, 1,000,000 events and 10,000 questions on PostgreSQL, each over HTTP for somebody who is
 * signed in, beside the statement that a list rests on.
 */
import { bounds } from "./Bounds.ts"
import type { Row, Sample } from "./Row.ts"
import { absolute, ratio, sample } from "./Row.ts"
import { withPostgres } from "./Server.ts"

export const row: Row = {
  name: "console",
  lines: async ({ rounds = 3 }) => {
    const { paths, samples } = await withPostgres((url) =>
      sample<{ readonly paths: ReadonlyArray<string>; readonly samples: ReadonlyArray<Sample> }>(
        "console",
        "postgres",
        [url, String(rounds)]
      )
    )
    const row = "console, PostgreSQL, 100,000 runs and 10,000 questions"
    const p99 = { unit: "ms at the 99th percentile", against: "none" }
    const against = "its statement, written by hand"
    return [
      absolute(
        { ...p99, row: `${row}, the slowest page`, bound: bounds.console },
        samples,
        "slowest"
      ),
      ...paths.map((path) =>
        absolute({ ...p99, row: `${row}, ${path}`, bound: undefined }, samples, path)
      ),
      ratio(
        { row: `${row}, a page of runs`, unit: "ms, median", against, bound: bounds.consoleRuns },
        samples,
        samples,
        "runs_ms",
        "bare_runs_ms"
      ),
      ratio(
        { row: `${row}, the inbox`, unit: "ms, median", against, bound: bounds.consoleInbox },
        samples,
        samples,
        "inbox_ms",
        "bare_inbox_ms"
      )
    ]
  }
}
