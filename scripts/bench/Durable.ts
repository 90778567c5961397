/**
 * The durable step on both engines, for one run and for 64 at once. Windows of both sides alternate in one process, over
 * one database; the ratio is of steps a second, so that more is better.
 */
import { launch, password, user } from "../../test/sql/PostgresServer.ts"
import type { Bound, Line, Row, Sample } from "./Row.ts"
import { ratio, sample } from "./Row.ts"

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

const onPostgres = async (rounds: number): Promise<Samples> => {
  const server = await launch()
  try {
    const url = `postgres://${user}:${password}@127.0.0.1:${server.port}/postgres`
    return await sample<Samples>("durable", "postgres", [url, String(rounds)])
  } finally {
    await server.stop()
    // The server is gone, and the hooks of its package would end this process with an exit code of their own.
    process.removeAllListeners("beforeExit")
    process.removeAllListeners("exit")
  }
}

export const row: Row = {
  name: "durable",
  lines: async ({ rounds = 9 }) => [
    ...linesOf("PostgreSQL", await onPostgres(rounds)),
    ...linesOf("PGlite", await sample<Samples>("durable", "pglite", [String(rounds)]))
  ]
}
