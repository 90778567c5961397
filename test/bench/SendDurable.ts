/**
 * A step of a message through `send` to a store, watched to the end: 64 conversations at once, each side on a database of
 * its own that is new in every round. The ratio is of steps a second, so that more is better; and of what a step makes
 * the server write.
 */
import { bounds } from "./Bounds.ts"
import type { Line, Row } from "./Row.ts"
import { inTurn, ratio } from "./Row.ts"
import { withPostgres } from "./Server.ts"
import { sized } from "./Work.ts"

const against = "group commit by hand of the same rows, heads and claims among them"
const windows = sized(1, 2)

const linesOf = async (
  engine: "PostgreSQL" | "PGlite",
  on: string,
  rounds: number
): Promise<ReadonlyArray<Line>> => {
  const { bare, sent } = await inTurn(rounds, windows, {
    bare: { row: "send-durable", variant: "bare", args: [on] },
    sent: { row: "send-durable", variant: "sent", args: [on] }
  })
  const row = `send, ${engine}, 64 runs of 10 steps`
  const rate = ratio(
    {
      row,
      unit: "steps a second",
      against,
      bound: bounds.sendDurable
    },
    sent,
    bare,
    "steps_s"
  )
  if (engine === "PGlite") return [rate]
  const bound = bounds.sendBytes
  return [rate, ratio({ row, unit: "bytes of log a step", against, bound }, sent, bare, "wal")]
}

export const row: Row = {
  name: "send-durable",
  lines: async ({ rounds = 3 }) => [
    ...(await withPostgres((url) => linesOf("PostgreSQL", url, rounds))),
    ...(await linesOf("PGlite", "pglite", rounds))
  ]
}
