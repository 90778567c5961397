/**
 * A thousand runs that wait for people, in a process that is killed with signal 9: until another has an entry of each,
 * against a reader written by hand that takes each run with one statement and reads its events.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bounds } from "./Bounds.ts"
import type { Line, Row } from "./Row.ts"
import { interleave, killed, ratio, sample } from "./Row.ts"
import { withSettledPostgres } from "./Server.ts"

const lines = async (
  engine: string,
  store: string,
  rounds: number
): Promise<ReadonlyArray<Line>> => {
  await killed("resume", "park", [store])
  await sample("resume", "copy", [store])
  // Each process of the runtime takes the runs from the one before, which is gone without a word.
  const waiting = await interleave(rounds, ["boot", "take"], (name) =>
    sample("resume", name, [store])
  )
  return [
    ratio(
      {
        row: `resume, ${engine}, 1,000 runs that wait, after kill -9`,
        unit: "ms",
        against: "takes each run with one UPDATE, reads and parses its events; 64 at a time",
        bound: bounds.resume
      },
      waiting.boot,
      waiting.take,
      "ms"
    )
  ]
}

export const row: Row = {
  name: "resume",
  lines: async ({ rounds = 5 }) => {
    const directory = mkdtempSync(join(tmpdir(), "troupe-bench-"))
    try {
      return [
        ...(await withSettledPostgres((url) => lines("PostgreSQL", url, rounds))),
        ...(await lines("PGlite", join(directory, "data"), rounds))
      ]
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
