/**
 * What a process holds of the machine's memory while it handles 50,000 messages: that of the first tenth beside that of the last.
 */
import { bounds } from "./Bounds.ts"
import type { Line, Row, Sample } from "./Row.ts"
import { ratio, sample } from "./Row.ts"
import { withPostgres } from "./Server.ts"
import { sized } from "./Work.ts"

const messages = sized(100, 50_000)
/** As many as actors that stay in the process when they have nothing to do, and as runs that a store in memory keeps. */
const warm = sized(20, 10_000)

const rowOf = (store: string) => `resident, ${messages.toLocaleString("en")} messages, ${store}`

const onEngine = async (
  engine: string,
  on: string,
  rounds: number
): Promise<ReadonlyArray<Line>> => {
  const samples: Array<Sample> = []
  for (let n = 0; n < rounds; n++) {
    samples.push(await sample("resident", "sent", [on, String(warm), String(messages)]))
  }
  return [
    ratio(
      {
        row: rowOf(engine),
        unit: "MB of RSS in the last tenth",
        against: "the same process in the first tenth, after a warm-up",
        bound: bounds.resident
      },
      samples,
      samples,
      "last_mb",
      "first_mb"
    )
  ]
}

export const row: Row = {
  name: "resident",
  lines: async ({ rounds = 1 }) => [
    ...(await onEngine("in memory", "ephemeral", rounds)),
    ...(await onEngine("PGlite", "pglite", rounds)),
    ...(await withPostgres((url) => onEngine("PostgreSQL", url, rounds)))
  ]
}
