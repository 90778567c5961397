/**
 * Writes ended runs as the lines of an archive: their journals, messages, questions, costs, records of calls and files. Only a
 * few rows are in memory at a time.
 */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { StoreError } from "../../../services/StoreError.ts"
import { RunId } from "../../../src/value/Ids.ts"
import { rowReader } from "../engine/DecodedRows.ts"
import { eventsOf, isWhole } from "../engine/EventRows.ts"
import * as Migrations from "../engine/Migrations.ts"
import type { ArchivedTable, Write } from "./ArchiveFile.ts"
import { archive_format, LineWriter } from "./ArchiveFile.ts"

/** The most rows that are read together: each may hold a result of several megabytes. */
const page_max = 16
/** The most bytes of a file in one line. */
const piece_bytes = 2 ** 20

/** A run was changed while it was exported, for example removed by retention. */
export class RunChanged extends Schema.TaggedError<RunChanged>()("RunChanged", {
  run_id: Schema.String
}) {
  override get message(): string {
    return `run ${this.run_id} was changed or removed while it was exported: the archive is not complete. Export again.`
  }
}

/** The sources of the rows of the run $1, each in a fixed order. */
const sources: ReadonlyArray<readonly [table: ArchivedTable, source: string]> = [
  [
    "conversations",
    `troupe.run_details d JOIN troupe.conversations t ON t.id = d.conversation AND t.tenant = d.tenant
     WHERE d.run_id = $1::uuid ORDER BY t.id`
  ],
  [
    "conversation_messages",
    `troupe.run_details d JOIN troupe.conversation_messages t ON t.tenant = d.tenant AND t.conversation = d.conversation
     WHERE d.run_id = $1::uuid AND t.run_id = $1::uuid ORDER BY t.seq`
  ],
  ["agent_tasks", "troupe.agent_tasks t WHERE t.id = $1::uuid ORDER BY t.id"],
  ["runs", "troupe.runs t WHERE t.run_id = $1::uuid ORDER BY t.run_id"],
  ["run_details", "troupe.run_details t WHERE t.run_id = $1::uuid ORDER BY t.run_id"],
  ["approvals", "troupe.approvals t WHERE t.run_id = $1::uuid ORDER BY t.position"],
  ["turn_costs", "troupe.turn_costs t WHERE t.run_id = $1::uuid ORDER BY t.seq, t.part"],
  ["call_records", "troupe.call_records t WHERE t.run_id = $1::uuid ORDER BY t.place"]
]

const skipping = (source: string): string =>
  `SELECT row_to_json(r)::text AS row FROM (SELECT t.* FROM ${source} OFFSET $2::int4 LIMIT ${page_max}) r`

/** Reads events by their seq, so that a late page does not read the earlier ones. */
const events = `SELECT row_to_json(t)::text AS row FROM (SELECT $1::uuid AS run_id, e.*
    FROM ${eventsOf("$1::uuid", "$2::int4", `$2::int4 + ${page_max}`)} e) t ORDER BY t.seq`

const uses = "troupe.blob_uses t WHERE t.run = $1::uuid ORDER BY t.digest, t.holder"

const readTexts = rowReader(Schema.Struct({ row: Schema.String }), "rows of runs")
const readFiles = rowReader(
  Schema.Struct({ tenant: Schema.String, digest: Schema.String, size: Schema.Number }),
  "files of runs"
)
const readPieces = rowReader(Schema.Struct({ bytes: Schema.Uint8Array }), "bytes of files")
const readHeads = rowReader(
  Schema.Struct({
    run_id: RunId,
    tenant: Schema.String,
    conversation: Schema.String,
    length: Schema.Int,
    whole: Schema.Boolean
  }),
  "runs"
)

type Failure = SqlError.SqlError | StoreError

/** Writes the rows of a run page by page. Gives the number of rows. */
const writeRows = Effect.fnUntraced(function* <E>(
  table: ArchivedTable,
  statement: string,
  run: RunId,
  lines: LineWriter,
  write: Write<E>
): Effect.fn.Return<number, E | Failure, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  let count = 0
  for (;;) {
    const rows = yield* readTexts(sql, statement, [run, count])
    if (rows.length > 0) yield* write(rows.map(({ row }) => lines.line(table, row)).join(""))
    count += rows.length
    if (rows.length < page_max) return count
  }
})

const writeFiles = Effect.fnUntraced(function* <E>(
  run: RunId,
  lines: LineWriter,
  write: Write<E>
): Effect.fn.Return<void, E | Failure, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const files = yield* readFiles(
    sql,
    `SELECT DISTINCT b.tenant, b.digest, b.size::float8 AS size FROM troupe.blob_uses u
         JOIN troupe.blobs b ON b.digest = u.digest AND b.tenant = u.tenant WHERE u.run = $1::uuid`,
    [run]
  )
  for (const { digest, size, tenant } of files) {
    for (let from = 0; from === 0 || from < size; from += piece_bytes) {
      const [piece] = yield* readPieces(
        sql,
        `SELECT substring(bytes FROM $3::int4 FOR ${piece_bytes}) AS bytes FROM troupe.blobs
           WHERE digest = $2::text AND tenant = $1::text`,
        [tenant, digest, from + 1]
      )
      if (piece === undefined) return yield* Effect.die(new Error("a file of a run is gone"))
      const base64 = Buffer.from(piece.bytes).toString("base64")
      yield* write(lines.line("blob_bytes", JSON.stringify({ tenant, digest, size, from, base64 })))
    }
  }
  yield* writeRows("blob_uses", skipping(uses), run, lines, write)
})

/** Writes a run. False where some of its events or its task are missing; nothing of it is written then. */
const writeRun = Effect.fnUntraced(function* <E>(
  run: RunId,
  lines: LineWriter,
  write: Write<E>
): Effect.fn.Return<boolean, E | Failure | RunChanged, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const [head] = yield* readHeads(
    sql,
    `SELECT r.run_id, r.tenant, d.conversation, r.length, ${isWhole("r")} AS whole FROM troupe.runs r
         JOIN troupe.run_details d ON d.run_id = r.run_id WHERE r.run_id = $1::uuid AND r.status BETWEEN 3 AND 5`,
    [run]
  )
  if (head === undefined) return yield* new RunChanged({ run_id: run })
  const { length, whole, ...named } = head
  if (!whole) return false
  yield* write(lines.line("run", JSON.stringify(named)))
  const counts = new Map<ArchivedTable, number>()
  for (const [table, source] of sources) {
    counts.set(table, yield* writeRows(table, skipping(source), run, lines, write))
    if (table !== "run_details") continue
    const written = yield* writeRows("run_events", events, run, lines, write)
    if (written !== length) return yield* new RunChanged({ run_id: run })
  }
  yield* writeFiles(run, lines, write)
  if (counts.get("agent_tasks") !== 1) return yield* new RunChanged({ run_id: run })
  return true
})

/** Ended runs in pages. `next` gives the next page, which may be empty, and undefined at the end. */
export interface Pages {
  readonly next: Effect.Effect<ReadonlyArray<RunId> | undefined, Failure, SqlClient.SqlClient>
}

export interface Exported {
  readonly runs: number
  /** Runs that were left out, because they lack events or their task. */
  readonly broken: ReadonlyArray<RunId>
}

/**
 * Writes one archive of these runs, which must have ended. `at` is the current time, in ms since 1970. `onRun` is called after
 * each run with the number of those that are done.
 */
export const exportRuns = Effect.fnUntraced(function* <E>(
  pages: Pages,
  at: number,
  write: Write<E>,
  onRun: (done: number) => void = () => {}
): Effect.fn.Return<Exported, E | Failure | RunChanged, SqlClient.SqlClient> {
  const lines = new LineWriter()
  const first = { format: archive_format, schema: yield* Migrations.newest, at }
  yield* write(lines.line("archive", JSON.stringify(first)))
  const broken: Array<RunId> = []
  let runs = 0
  for (let page = yield* pages.next; page !== undefined; page = yield* pages.next) {
    for (const run of page) {
      if (yield* writeRun(run, lines, write)) runs++
      else broken.push(run)
      onRun(runs + broken.length)
    }
  }
  yield* write(lines.line("end", JSON.stringify({ runs })))
  return { runs, broken }
})

export interface Chosen {
  /** Only runs of this tenant. Absent = of all tenants. */
  readonly tenant?: string | undefined
  /** Only runs that ended before this time, in ms since 1970. Absent = all ended runs. */
  readonly before?: number | undefined
}

const looked_max = 200

const readEnded = rowReader(Schema.Struct({ run_id: RunId, chosen: Schema.Boolean }), "runs")

/** The chosen ended runs of a database, by id. */
export const endedRuns = (chosen: Chosen): Pages => {
  let after = "00000000-0000-0000-0000-000000000000"
  let isOver = false
  return {
    next: Effect.gen(function* () {
      if (isOver) return undefined
      const sql = yield* SqlClient.SqlClient
      const rows = yield* readEnded(
        sql,
        `SELECT r.run_id, (r.status BETWEEN 3 AND 5 AND ($2::text = '' OR r.tenant = $2::text) AND ($3::text = '' OR (
             SELECT e.at FROM ${eventsOf("r.run_id", "r.length - 1", "r.length")} e) < nullif($3::text, '')::int8)) IS TRUE AS chosen
           FROM troupe.runs r WHERE r.run_id > $1::uuid ORDER BY r.run_id LIMIT ${looked_max}`,
        [after, chosen.tenant ?? "", chosen.before === undefined ? "" : String(chosen.before)]
      )
      isOver = rows.length < looked_max
      after = rows.at(-1)?.run_id ?? after
      return rows.flatMap((row) => (row.chosen ? [row.run_id] : []))
    })
  }
}

/** These runs as a single page. */
export const onePage = (runs: ReadonlyArray<RunId>): Pages => {
  const pages = [runs]
  return { next: Effect.sync(() => pages.pop()) }
}
