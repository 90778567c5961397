/**
 * Ten thousand runs at work in a process that is killed with signal 9: how soon another has taken them up and brought them to
 * their ends, how late its timers are meanwhile, and how long messages of others take.
 */
import { newDatabase } from "./NewDatabase.ts"
import type { Bound } from "./Bounds.ts"
import { bounds } from "./Bounds.ts"
import type { Line, Row, Sample } from "./Row.ts"
import { absolute, killed, sample } from "./Row.ts"
import { withSettledPostgres } from "./Server.ts"
import { sized } from "./Work.ts"

const runs = sized(50, 10_000)

const round = async (on: string): Promise<Sample> => {
  const args = [JSON.stringify(await newDatabase(on)), String(runs)]
  await killed("recovery", "hold", args)
  return sample("recovery", "recover", args)
}

const linesOf = async (on: string, rounds: number): Promise<ReadonlyArray<Line>> => {
  const samples: Array<Sample> = []
  for (let n = 0; n < rounds; n++) samples.push(await round(on))
  const line = (unit: string, measure: string, bound: Bound | undefined) =>
    absolute(
      {
        row: `recovery, PostgreSQL, ${runs.toLocaleString("en")} runs at work, after kill -9`,
        unit,
        against: "from when the next process is ready, which was started after the kill",
        bound
      },
      samples,
      measure
    )
  return [
    line("ms to the first turn", "first_ms", bounds.recoveryFirst),
    line("ms to the last end", "last_ms", bounds.recoveryLast),
    line("CPU ms of the thread between two timers, at most", "busy_ms", bounds.recoveryBusy),
    line("ms a timer is late, at most", "lag_ms", bounds.recoveryLag),
    line("ms of the slowest message of others", "other_ms", bounds.recoveryOthers),
    line("messages of others meanwhile", "others", undefined),
    line("ms of the start", "start_ms", undefined)
  ]
}

export const row: Row = {
  name: "recovery",
  lines: ({ rounds = 1 }) => withSettledPostgres((url) => linesOf(url, rounds))
}
