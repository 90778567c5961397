/**
 * Imports the runs of an archive into a database, each in a transaction of its own. A run that the database already has is not
 * changed, so that the same archive can be imported twice. The archive is verified to its end before anything is written.
 */
import { Data, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { StoreError } from "../../../services/StoreError.ts"
import { ConversationId, RunId, Tenant } from "../../../src/value/Ids.ts"
import { rowReader } from "../engine/DecodedRows.ts"
import { isWhole } from "../engine/EventRows.ts"
import * as Migrations from "../engine/Migrations.ts"
import { inTransaction } from "../engine/SqlFailure.ts"
import type { ArchiveUnusable, Lines, ArchivedTable, ArchiveLine } from "./ArchiveFile.ts"
import {
  readFile,
  archive_format,
  archived_tables,
  ArchiveRefused,
  unreleased_format
} from "./ArchiveFile.ts"

export interface Imported {
  readonly runs: number
  /** Runs that the database already had; nothing of them was changed. */
  readonly known: number
  /** Runs that conflict with existing rows; nothing of them was imported. */
  readonly refused: ReadonlyArray<RunId>
}

/** An existing row of the database has the key of a row of the run. `next`: the line after the run's lines. */
class InTheWay extends Data.TaggedError("InTheWay")<{
  readonly run: RunId
  readonly next: ArchiveLine
}> {}

/** The address key of imported conversations. No message is sent to it, so that nobody continues them. */
const archived_key = "archived"

type Refusal = ArchiveRefused | ArchiveUnusable
type Failure = Refusal | SqlError.SqlError | StoreError

const refuse = ({ number }: { readonly number: number }, reason: string) =>
  Effect.fail(new ArchiveRefused({ line: number, reason }))

const First = Schema.Struct({ format: Schema.Int, schema: Schema.Int, at: Schema.Int })
const Last = Schema.Struct({ runs: Schema.Int })
const RunLine = Schema.Struct({ run_id: RunId, tenant: Tenant, conversation: ConversationId })
type RunLine = typeof RunLine.Type
const BlobBytes = Schema.Struct({
  tenant: Tenant,
  digest: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)),
  size: Schema.Int,
  from: Schema.Int,
  base64: Schema.String
})

const decoded =
  <A, I>(schema: Schema.Codec<A, I>) =>
  (line: ArchiveLine): Effect.Effect<A, ArchiveRefused> =>
    Effect.catch(Schema.decodeUnknownEffect(schema)(line.row), () =>
      refuse(line, `its row is not one of "${line.kind}"`)
    )
const firstOf = decoded(First)
const lastOf = decoded(Last)
const runOf = decoded(RunLine)
const blobOf = decoded(BlobBytes)

const isTable = (kind: string): kind is ArchivedTable =>
  (archived_tables as ReadonlyArray<string>).includes(kind)

/** The column with the run's id, where it is not `run_id`. */
const run_columns: Partial<Record<ArchivedTable, string>> = { agent_tasks: "id", blob_uses: "run" }

/** Why the row does not belong to this run; undefined if it does. */
const strangeness = ({ kind, row }: ArchiveLine, run: RunLine): string | undefined => {
  if (kind === "conversations") {
    return row["id"] === run.conversation && row["tenant"] === run.tenant
      ? undefined
      : "it is of another conversation"
  }
  if (kind === "blob_bytes") {
    return row["tenant"] === run.tenant ? undefined : "it is of another tenant"
  }
  const column = isTable(kind) ? (run_columns[kind] ?? "run_id") : "run_id"
  if (row[column] !== run.run_id) return "it is of another run"
  if ("tenant" in row && row["tenant"] !== run.tenant) return "it is of another tenant"
  if (kind !== "runs") return undefined
  const status = row["status"]
  return typeof status === "number" && status >= 3 && status <= 5
    ? undefined
    : "the run has not ended"
}

/** Verifies the whole archive without reading the database. Gives the number of runs. */
const verify = Effect.fnUntraced(function* (lines: Lines): Effect.fn.Return<number, Refusal> {
  const first = yield* lines.next
  if (first?.kind !== "archive") return yield* refuse({ number: 1 }, "it does not begin an archive")
  const { format, schema } = yield* firstOf(first)
  const isNewer =
    format === archive_format ? schema > (yield* Migrations.newest) : format !== unreleased_format
  if (isNewer) return yield* refuse(first, "a newer version of Troupe wrote it")
  let run: RunLine | undefined
  let runs = 0
  let last = first
  for (;;) {
    const line = yield* lines.next
    if (line === undefined) return yield* refuse(last, "the archive ends before its last line")
    last = line
    if (line.kind === "end") break
    if (line.kind === "run") {
      run = yield* runOf(line)
      runs++
      continue
    }
    if (line.kind === "archive" || run === undefined) return yield* refuse(line, "it is misplaced")
    const strange = strangeness(line, run)
    if (strange !== undefined) return yield* refuse(line, strange)
  }
  if ((yield* lastOf(last)).runs !== runs) return yield* refuse(last, "runs are missing before it")
  const more = yield* lines.next
  return more === undefined ? runs : yield* refuse(more, "it stands behind the last line")
})

const readColumns = rowReader(
  Schema.Struct({ table_name: Schema.String, columns: Schema.Array(Schema.String) }),
  "columns"
)
const readCounts = rowReader(Schema.Struct({ n: Schema.Int }), "counts")

/** The columns of each table, except those that the database fills itself. */
const columnsOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const rows = yield* readColumns(
    sql,
    `SELECT c.relname::text AS table_name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = ''
         AND a.attgenerated = ''
       WHERE c.relnamespace = 'troupe'::regnamespace AND c.relname = ANY ($1::text[]) GROUP BY c.relname`,
    [archived_tables]
  )
  return new Map(rows.map(({ columns, table_name }) => [table_name, columns]))
})
type Columns = ReadonlyMap<string, ReadonlyArray<string>>

const count = (sql: SqlClient.SqlClient, statement: string, params: ReadonlyArray<unknown>) =>
  Effect.map(readCounts(sql, statement, params), ([row]) => row?.n ?? 0)

/**
 * Inserts a row. A column that the row lacks gets its default, because the archive is older than the column. Gives 1 if the row
 * was inserted, 0 if its key existed.
 */
const insertRow = (
  sql: SqlClient.SqlClient,
  columns: Columns,
  { kind, row, text }: ArchiveLine
): Effect.Effect<number, SqlError.SqlError | StoreError> => {
  const names = (columns.get(kind) ?? []).filter((name) => name in row).join(", ")
  return count(
    sql,
    `WITH made AS (INSERT INTO troupe.${kind} (${names})
       SELECT ${names} FROM json_populate_record(NULL::troupe.${kind}, $1::text::json)
       ON CONFLICT DO NOTHING RETURNING 1)
     SELECT count(*)::int4 AS n FROM made`,
    [text]
  )
}

/**
 * Inserts a piece of a file. `growing` has the files whose first piece created a row; their further pieces are appended to it.
 * Fails where the complete bytes do not match the digest.
 */
const insertPiece = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  line: ArchiveLine,
  growing: Set<string>
): Effect.fn.Return<void, Failure> {
  const { base64, digest, from, size, tenant } = yield* blobOf(line)
  const params = [tenant, digest, base64]
  if (from === 0) {
    const made = yield* count(
      sql,
      `WITH made AS (INSERT INTO troupe.blobs (tenant, digest, size, bytes)
         VALUES ($1::text, $2::text, $4::text::int8, decode($3::text, 'base64')) ON CONFLICT DO NOTHING RETURNING size),
       total AS (INSERT INTO troupe.blob_totals AS t (tenant, bytes) SELECT $1::text, size FROM made
         ON CONFLICT (tenant) DO UPDATE SET bytes = t.bytes + excluded.bytes)
       SELECT count(*)::int4 AS n FROM made`,
      [...params, String(size)]
    )
    if (made === 1) growing.add(digest)
  } else if (growing.has(digest)) {
    yield* sql.unsafe(
      `UPDATE troupe.blobs SET bytes = bytes || decode($3::text, 'base64')
       WHERE digest = $2::text AND tenant = $1::text AND octet_length(bytes) = $4::int4`,
      [...params, from]
    )
  }
  if (!growing.has(digest) || from + Buffer.byteLength(base64, "base64") < size) return
  const whole = yield* count(
    sql,
    `SELECT count(*)::int4 AS n FROM troupe.blobs WHERE digest = $2::text AND tenant = $1::text
       AND octet_length(bytes) = size AND encode(sha256(bytes), 'hex') = digest`,
    [tenant, digest]
  )
  if (whole !== 1) return yield* refuse(line, "the file's bytes are not those of its digest")
})

/** Whether the run has its head, its task and all of its events: otherwise an existing row has the key of one of its rows. */
const whole_runs = `SELECT count(*)::int4 AS n FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
  WHERE r.run_id = $1::uuid AND ${isWhole("r")}`

/**
 * Imports the lines of one run. Gives the line after them. Fails with InTheWay after the last one if a row conflicted with an
 * existing one.
 */
const importRun = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  columns: Columns,
  lines: Lines,
  first: ArchiveLine
): Effect.fn.Return<{ readonly next: ArchiveLine; readonly isKnown: boolean }, Failure | InTheWay> {
  const run = yield* runOf(first)
  const known = yield* count(
    sql,
    "SELECT count(*)::int4 AS n FROM troupe.runs WHERE run_id = $1::uuid",
    [run.run_id]
  )
  const growing = new Set<string>()
  let isOurs = false
  for (;;) {
    const line = yield* lines.next
    if (line === undefined) return yield* refuse(first, "the archive ends before its last line")
    if (line.kind === "run" || line.kind === "end") {
      if (known === 0 && (yield* count(sql, whole_runs, [run.run_id])) !== 1) {
        return yield* new InTheWay({ run: run.run_id, next: line })
      }
      // Another import may have inserted it meanwhile.
      return { next: line, isKnown: !isOurs }
    }
    if (known > 0) continue
    const strange = strangeness(line, run)
    if (strange !== undefined) return yield* refuse(line, strange)
    if (line.kind === "blob_bytes") yield* insertPiece(sql, line, growing)
    else {
      const made = yield* insertRow(sql, columns, line)
      if (line.kind === "runs" && made === 1) isOurs = true
      if (line.kind === "conversations" && made === 1) {
        yield* sql.unsafe(
          "UPDATE troupe.conversations SET address_key = $3::text WHERE id = $1::text AND tenant = $2::text",
          [run.conversation, run.tenant, archived_key]
        )
      }
    }
  }
})

/** Verifies a file to its end. Gives the number of runs in it. */
export const check = (path: string): Effect.Effect<number, Refusal> =>
  Effect.scoped(Effect.flatMap(readFile(path), verify))

/** The outcome for one run. */
type Brought = { readonly next: ArchiveLine } & (
  | { readonly isKnown: boolean; readonly refused?: undefined }
  | { readonly refused: RunId }
)

/**
 * Imports the runs of a file. A run that conflicts with existing rows is left out as a whole, and the runs after it are still
 * imported. `onRun` is called after each run with the number of those that are done, and of all.
 */
export const importRuns = Effect.fn("RunArchive.import")(function* (
  path: string,
  onRun: (done: number, total: number) => void = () => {}
): Effect.fn.Return<Imported, Failure, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  const total = yield* check(path)
  const columns = yield* columnsOf(sql)
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const lines = yield* readFile(path)
      yield* lines.next
      let line = yield* lines.next
      let runs = 0
      let known = 0
      const refused: Array<RunId> = []
      while (line?.kind === "run") {
        const brought: Brought = yield* Effect.catchTag(
          inTransaction(sql)(importRun(sql, columns, lines, line)),
          "InTheWay",
          ({ next, run }) => Effect.succeed({ next, refused: run })
        )
        if (brought.refused !== undefined) refused.push(brought.refused)
        else if (brought.isKnown) known++
        else runs++
        line = brought.next
        onRun(runs + known + refused.length, total)
      }
      return { runs, known, refused }
    })
  )
})
