/**
 * Removes what is over and old, in small transactions while runs continue: ended runs, which are written to an archive first if
 * one is configured; records of calls; settled dead letters; results of queued calls.
 */
import { Clock, Effect, Layer, Schedule, Schema } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { BlobStore } from "../../../services/BlobStore.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { ToolQueue } from "../../../services/ToolQueue.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import * as ArchiveFile from "../archive/ArchiveFile.ts"
import * as RunExport from "../archive/RunExport.ts"
import { rowReader } from "../engine/DecodedRows.ts"
import * as ExpiredRuns from "./ExpiredRuns.ts"

/** How long ended runs and records are kept, and where they are archived. */
export interface RetentionOptions {
  /** How long a run is kept after its end, in ms: journal, messages, questions, files, its records. Absent = 90 days. */
  readonly runs_ms?: number
  /** How long records of calls, settled dead letters and results of queued calls are kept, in ms. Absent = 30 days. */
  readonly records_ms?: number
  /** A directory for archives: a run is removed only after it was written there. Absent = runs are removed without an archive. */
  readonly archive?: string
}

const day_ms = 86_400_000
const runs_default_ms = 90 * day_ms
const records_default_ms = 30 * day_ms

/** In ms: the time from the start to the first pass, between passes, and between the pages of a pass. */
const first_ms = 60_000
const pass_ms = 3_600_000
const rest_ms = 500

/**
 * The most runs that one statement checks, the most that one transaction removes, and about how many events it removes with them.
 */
const looked_max = 200
const removed_max = 50
const events_max = 5_000
const records_max = 500
/** The most runs that one log entry names. */
const named_max = 20

type Failure = SqlError.SqlError | StoreError | ArchiveFile.ArchiveUnusable | RunExport.RunChanged
type Needs = SqlClient.SqlClient | BlobStore | ToolQueue

const readTimes = rowReader(Schema.Struct({ now: Schema.Number }), "times")
const readCounts = rowReader(Schema.Struct({ n: Schema.Int }), "counts")

/**
 * The earlier of the process's and the database's time, in ms since 1970, so that a clock that is ahead removes nothing too soon.
 */
const currentTime = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* readTimes(
    sql,
    "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now"
  )
  return Math.min(yield* Clock.currentTimeMillis, row?.now ?? 0)
})

/** Divides runs into the groups that one transaction removes. */
const groups = function* (expired: ReadonlyArray<ExpiredRuns.Expired>) {
  let group: Array<RunId> = []
  let events = 0
  for (const { length, run } of expired) {
    if (group.length > 0 && (group.length >= removed_max || events + length > events_max)) {
      yield group
      group = []
      events = 0
    }
    group.push(run)
    events += length
  }
  if (group.length > 0) yield group
}

/** The name of an archive file. Names sort by time. */
const fileName = (at: number, first: RunId): string =>
  `${new Date(at).toISOString().replaceAll(/[:.]/g, "-")}-${first}.jsonl`

const archive = (directory: string, runs: ReadonlyArray<RunId>, first: RunId) =>
  Effect.gen(function* () {
    const at = yield* Clock.currentTimeMillis
    yield* ArchiveFile.writeFile(`${directory}/${fileName(at, first)}`, (write) =>
      RunExport.exportRuns(RunExport.onePage(runs), at, write)
    )
  })

const logBroken = (runs: ReadonlyArray<RunId>) =>
  Effect.annotateLogs(
    Effect.logError(
      `${runs.length} old runs are not whole and are kept: events of theirs or their tasks are missing`
    ),
    { runs: runs.slice(0, named_max) }
  )

/** Removes runs that ended before `before`. Gives how many it removed. */
const removeRuns = Effect.fnUntraced(function* (
  before: number,
  directory: string | undefined,
  pause: Effect.Effect<void>
): Effect.fn.Return<number, Failure, Needs> {
  let removed = 0
  let after: RunId | undefined
  do {
    const page: ExpiredRuns.Page = yield* ExpiredRuns.find(before, looked_max, after)
    if (page.broken.length > 0) yield* logBroken(page.broken)
    for (const runs of groups(page.expired)) {
      const [first] = runs
      if (directory !== undefined && first !== undefined) yield* archive(directory, runs, first)
      removed += yield* ExpiredRuns.remove(before, runs)
      yield* pause
    }
    after = page.last
    yield* pause
  } while (after !== undefined)
  return removed
})

/** Records are stored almost in the order of their time, so only the first ones are checked. */
const forgotten = [
  `DELETE FROM troupe.call_records r WHERE r.place = ANY (ARRAY (SELECT o.place FROM (
     SELECT c.place, c.ended_at FROM troupe.call_records c ORDER BY c.place LIMIT ${records_max}) o WHERE o.ended_at < $1::text::int8))`,
  `DELETE FROM troupe.dead_letters d WHERE d.event_id = ANY (ARRAY (
     SELECT o.event_id FROM troupe.dead_letters o WHERE o.status > 0 AND o.resolved_at < $1::text::int8 LIMIT ${records_max}))`
]

const removeRecords = Effect.fnUntraced(function* (
  before: number,
  pause: Effect.Effect<void>
): Effect.fn.Return<number, Failure, Needs> {
  const sql = yield* SqlClient.SqlClient
  const queue = yield* ToolQueue
  const deletions = forgotten.map((statement) =>
    Effect.map(
      readCounts(
        sql,
        `WITH gone AS (${statement} RETURNING 1) SELECT count(*)::int4 AS n FROM gone`,
        [String(before)]
      ),
      ([row]) => row?.n ?? 0
    )
  )
  let removed = 0
  for (const once of [...deletions, queue.prune(before)]) {
    for (;;) {
      const count = yield* once
      removed += count
      yield* pause
      if (count === 0) break
    }
  }
  return removed
})

/** Removes everything that is old. Gives how many runs and records it removed. */
export const pass = Effect.fn("Retention.pass")(function* (
  { archive, records_ms = records_default_ms, runs_ms = runs_default_ms }: RetentionOptions,
  pause: Effect.Effect<void> = Effect.void
): Effect.fn.Return<{ readonly runs: number; readonly records: number }, Failure, Needs> {
  const now = yield* currentTime
  const runs = yield* removeRuns(now - runs_ms, archive, pause)
  const records = yield* removeRecords(now - records_ms, pause)
  if (runs + records > 0) {
    yield* Effect.logInfo(`what was old was removed: ${runs} runs and ${records} records`)
  }
  return { runs, records }
})

/**
 * Starts a pass one minute after the start, and another one hour after each. A pass that fails is logged, and the next one runs
 * all the same.
 */
const start = (options: RetentionOptions): Effect.Effect<void, never, Needs | Scope.Scope> => {
  const once = Effect.catchCause(pass(options, Effect.sleep(rest_ms)), (cause) =>
    Effect.logWarning("what is old was not removed", cause)
  )
  return Effect.repeat(once, Schedule.spaced(pass_ms)).pipe(
    Effect.delay(first_ms),
    Effect.withTracerEnabled(false),
    Effect.forkScoped,
    Effect.asVoid
  )
}

export const layer = (options: RetentionOptions): Layer.Layer<never, never, Needs> =>
  Layer.effectDiscard(start(options))
