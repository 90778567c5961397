/**
 * Reads whole runs, several in one statement for concurrent readers. Each run's head and events are as they are at one moment.
 * Private to this room.
 */
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlConnection } from "effect/sql"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { journalRowDecoder } from "../engine/DecodedRows.ts"
import { events_bytes, events_text } from "../engine/EventRows.ts"
import * as GroupedReads from "../engine/GroupedReads.ts"
import { orJournalError } from "../engine/SqlFailure.ts"
import { foldableEntries, entriesIn, head_columns, headOf, HeadRow } from "./RunRows.ts"

/**
 * The most runs in one statement, and the most bytes of their events together. The events of runs beyond that are read one by
 * one.
 */
const batch_max = 512
const bytes_max = 8_000_000

export interface WholeRun {
  readonly head: RunHead
  /** All entries of the run: as many as `head.length`. */
  readonly entries: ReadonlyArray<JournalEntry>
}

const decodeRows = journalRowDecoder(
  Schema.Struct({
    ...HeadRow.fields,
    /** Null where the events are too many for one row, or for one statement. */
    entries: Schema.NullOr(Schema.String)
  }),
  "runs"
)

// `OFFSET 0` leaves each row one way to be found: by the key of the run.
const statement = `SELECT h.*, CASE WHEN w.total <= ${bytes_max} THEN (
    SELECT ${events_text} FROM troupe.run_pairs e WHERE e.run_id = w.run_id) END AS entries
FROM (
  SELECT w.run_id, sum(s.size) OVER (ORDER BY w.place) AS total
  FROM unnest($1::text[]::uuid[]) WITH ORDINALITY AS w(run_id, place) CROSS JOIN LATERAL
    (SELECT coalesce(${events_bytes}, 0) AS size FROM troupe.run_pairs e WHERE e.run_id = w.run_id OFFSET 0) s) w
CROSS JOIN LATERAL (
  SELECT ${head_columns} FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
  WHERE r.run_id = w.run_id AND d.run_id = w.run_id OFFSET 0) h`

type ReadRun = (run: RunId) => Effect.Effect<WholeRun | undefined, RunQuarantined | JournalError>

/**
 * Makes the function that reads a run as it is now, in one statement with the runs that others ask for meanwhile. Undefined:
 * there is no such run.
 */
export const make = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<ReadRun, never, Scope.Scope> {
  const read = yield* GroupedReads.make({
    sql,
    batch_max,
    read: (runs: ReadonlyArray<RunId>) =>
      Effect.map(
        // A run that several callers read has one row.
        sql.unsafe<SqlConnection.Row>(statement, [[...new Set(runs)]]),
        (rows) => {
          const found = new Map(rows.map((row) => [row["run_id"], [row]]))
          return runs.map((run) => found.get(run) ?? [])
        }
      )
  })
  return Effect.fnUntraced(function* (run: RunId) {
    const [row] = yield* Effect.mapError(Effect.flatMap(read(run), decodeRows), orJournalError)
    if (row === undefined) return undefined
    const head = headOf(row)
    const all = row.entries === null ? undefined : entriesIn(row.entries)
    const whole = all?.length === head.length ? all : yield* foldableEntries(sql, run, head.length)
    return { head, entries: whole }
  })
})
