/**
 * Messages over HTTP, each with one call and an answer, from the request to the event of its end on the conversation's
 * event stream: 64 conversations at once, each side on a database of its own that is new in every round.
 */
import type { Bound } from "./Bounds.ts"
import { bounds } from "./Bounds.ts"
import type { Line, Row } from "./Row.ts"
import { inTurn, ratio } from "./Row.ts"
import { withPostgres } from "./Server.ts"
import { sized } from "./Work.ts"

const against =
  "a node:http service by hand over the same engine, with group commit of the same rows"
const windows = sized(1, 2)

const linesOf = async (
  engine: string,
  on: string,
  rounds: number,
  bound: Bound
): Promise<ReadonlyArray<Line>> => {
  const { bare, ours } = await inTurn(rounds, windows, {
    bare: { row: "http", variant: "bare", args: [on] },
    ours: { row: "http", variant: "ours", args: [on] }
  })
  const row = `http, ${engine}, 64 conversations`
  const about = (unit: string) => ({ row, unit, against, bound: undefined })
  return [
    ratio({ ...about("messages a second"), bound }, ours, bare, "messages_s"),
    ratio(about("ms to the first event"), ours, bare, "first_ms"),
    ratio(about("ms to the end"), ours, bare, "end_ms")
  ]
}

export const row: Row = {
  name: "http",
  lines: async ({ rounds = 3 }) => [
    // 800 a second where the lower bound makes 2,000.
    ...(await withPostgres((url) => linesOf("PostgreSQL", url, rounds, bounds.http))),
    ...(await linesOf("PGlite", "pglite", rounds, bounds.httpPglite))
  ]
}
