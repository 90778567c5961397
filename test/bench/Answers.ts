/**
 * A thousand runs that wait for people, in a process that is killed with signal 9, and what it left stays as it is, its
 * lease too. Another process starts; every question is answered, and every run goes on to its end.
 */
import type { Store } from "troupe/embed"
import { newDatabase } from "./NewDatabase.ts"
import { bounds } from "./Bounds.ts"
import type { Line, Row, Sample } from "./Row.ts"
import { killed, ratio, sample } from "./Row.ts"
import { withSettledPostgres } from "./Server.ts"

/** Both sides on a new database in each round: the answers of one round are no questions in the next. */
const round = async (on: string): Promise<{ readonly ours: Sample; readonly bare: Sample }> => {
  const stored = async () => [JSON.stringify((await newDatabase(on)) satisfies Store)]
  const ours = await stored()
  await killed("answers", "park", ours)
  const bare = await stored()
  await sample("answers", "parkBare", bare)
  return {
    ours: await sample("answers", "answer", ours),
    bare: await sample("answers", "answerBare", bare)
  }
}

const against =
  "reads 64 runs at a time by hand, and writes the same rows by group commit: decision and claim, dispatch, result, end"

const linesOf = async (
  engine: string,
  on: string,
  rounds: number
): Promise<ReadonlyArray<Line>> => {
  const samples: Array<Awaited<ReturnType<typeof round>>> = []
  for (let n = 0; n < rounds; n++) samples.push(await round(on))
  const ours = samples.map((each) => each.ours)
  const bare = samples.map((each) => each.bare)
  const row = `answers, ${engine}, 1,000 runs after kill -9`
  const bound = bounds.answers
  return [
    ratio({ row, unit: "ms", against, bound }, ours, bare, "ms"),
    // To open a PGlite takes a second on both sides, which would hide what is measured.
    ratio({ row, unit: "ms with the start", against, bound: undefined }, ours, bare, "all_ms"),
    ratio({ row, unit: "CPU ms of the thread", against, bound: undefined }, ours, bare, "cpu_ms")
  ]
}

export const row: Row = {
  name: "answers",
  lines: async ({ rounds = 2 }) => [
    ...(await withSettledPostgres((url) => linesOf("PostgreSQL", url, rounds))),
    ...(await linesOf("PGlite", "pglite", rounds))
  ]
}
