/**
 * A durable step on one engine: a run's append with its fence and its projections through `SqlRunJournal`, beside the
 * same rows written by hand without a fence: in a group commit where 64 runs write, one statement a step where one does.
 * Of every hundred steps two ask a person and five end a run.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { RunId } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { anotherRun, eventOf, statusOf, steps_per_run } from "./DurableSteps.ts"
import { engines } from "./Engines.ts"
import { tenant } from "./Rig.ts"
import * as Bare from "./BareCommit.ts"
import { sized } from "./Work.ts"

const window_ms = sized(20, 400)
/** Of each side in a round, in turn with the other's: a database has moments of its own, such as a checkpoint. */
const windows = sized(1, 3)
const concurrencies = [1, 64] as const

/** What a writer takes: runs that were made before the window. */
type Write = (run: RunId, length: number, event: RunEvent) => Effect.Effect<void, unknown>

/** Writers in a closed loop for one window: how many steps, and how long it was. */
const window = Effect.fnUntraced(function* (writers: number, runs: Array<RunId>, write: Write) {
  let steps = 0
  const began = performance.now()
  const end = began + window_ms
  const writer = Effect.gen(function* () {
    while (performance.now() < end) {
      const run = runs.pop()
      if (run === undefined) return yield* Effect.die(new Error("too few runs were made"))
      for (let step = 1; step <= steps_per_run && performance.now() < end; step++) {
        yield* write(run, step + 1, eventOf(step, ++steps))
      }
    }
  })
  yield* Effect.all(
    Array.from({ length: writers }, () => writer),
    {
      concurrency: "unbounded",
      discard: true
    }
  )
  return { steps, ms: performance.now() - began }
})

const measured = (rounds: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const journal = yield* RunJournal
    yield* Bare.prepare(sql)
    const bare = Bare.make(sql)
    const ours: Write = (run, length, event) =>
      journal.append({ run, fence: { epoch: 1, length }, events: [event], status: statusOf(event) })
    const lower = { 1: bare.one, 64: bare.group }
    const samples: Array<Record<string, number>> = []
    // The first round is for the compilers and the caches of both sides.
    for (let round = 0; round <= rounds; round++) {
      const turns = concurrencies.flatMap((writers) => [
        { name: `ours_${writers}`, writers, write: ours, steps: 0, ms: 0 },
        { name: `lower_${writers}`, writers, write: lower[writers], steps: 0, ms: 0 }
      ])
      for (let i = 0; i < turns.length * windows; i++) {
        const turn = turns[(i + round) % turns.length]!
        const { write, writers } = turn
        const runs = yield* Bare.runs(
          sql,
          tenant,
          writers === 1 ? sized(40, 400) : sized(200, 2_000),
          anotherRun
        )
        const { ms, steps } = yield* window(writers, runs, write)
        turn.steps += steps
        turn.ms += ms
      }
      const sample = Object.fromEntries(
        turns.map(({ ms, name, steps }) => [name, (steps * 1_000) / ms])
      )
      if (round > 0) samples.push(sample)
    }
    return { samples }
  })

export const { pglite, postgres } = engines(measured)
