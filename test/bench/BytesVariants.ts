/**
 * What a step makes a database write, in bytes of its write-ahead log: 64 runs at once through `SqlRunJournal`, and the
 * same rows by hand, beside histories of 10 and of 1,000 events.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { RunId } from "../../src/value/Ids.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import * as Bare from "./BareCommit.ts"
import { anotherRun, eventOf, statusOf } from "./DurableSteps.ts"
import { engines } from "./Engines.ts"
import { tenant } from "./Rig.ts"

const writers = 64
/** In one measure; a run asks a person in between, and does not end. */
const steps_each = 15

/** Runs that have a history already, on both sides. */
const runsWith = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, history: number) {
  const runs = yield* Bare.runs(sql, tenant, writers, anotherRun)
  for (const schema of ["troupe", "bare"]) {
    yield* sql.unsafe(
      `INSERT INTO ${schema}.run_pairs (run_id, seq, at, payload)
       SELECT id::uuid, seq, 0, repeat('x', 330)
       FROM unnest($1::text[]) AS t(id), generate_series(0, $2::int4 - 1) AS s(seq)`,
      [runs, history]
    )
  }
  yield* sql.unsafe(
    `UPDATE troupe.runs SET length = $2::int4 WHERE run_id = ANY($1::text[]::uuid[])`,
    [runs, history]
  )
  return runs
})

const position = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql.unsafe<{ readonly bytes: number }>(
      `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`
    ),
    (rows) => rows[0]!.bytes
  )

type Write = (run: RunId, length: number, count: number) => Effect.Effect<void, unknown>

/** Bytes a step. */
const written = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  runs: ReadonlyArray<RunId>,
  from: number,
  write: Write
) {
  const before = yield* position(sql)
  let count = 0
  yield* Effect.forEach(
    runs,
    (run) =>
      Effect.gen(function* () {
        for (let step = 0; step < steps_each; step++) yield* write(run, from + step, ++count)
      }),
    { concurrency: "unbounded", discard: true }
  )
  return ((yield* position(sql)) - before) / count
})

const measured = (rounds: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const journal = yield* RunJournal
    yield* Bare.prepare(sql)
    const bare = Bare.make(sql)
    const lower: Write = (run, length, count) => bare.group(run, length, eventOf(1, count))
    const ours: Write = (run, length, count) => {
      const event = eventOf(1, count)
      const status = statusOf(event)
      return journal.append({ run, fence: { epoch: 1, length }, events: [event], status })
    }
    const samples: Array<Record<string, number>> = []
    const histories = [
      { name: "10", length: 10 },
      { name: "1000", length: 1_000 }
    ] as const
    const runs = {
      "10": yield* runsWith(sql, 10),
      "1000": yield* runsWith(sql, 1_000)
    }
    // The first round writes the pages that both sides touch for the first time since they were flushed.
    for (let round = 0; round <= rounds; round++) {
      const sample: Record<string, number> = {}
      for (const { length, name } of histories) {
        const from = length + round * steps_each
        sample[`ours_${name}`] = yield* written(sql, runs[name], from, ours)
        sample[`lower_${name}`] = yield* written(sql, runs[name], from, lower)
      }
      if (round > 0) samples.push(sample)
    }
    return { samples }
  })

export const { pglite, postgres } = engines(measured)
