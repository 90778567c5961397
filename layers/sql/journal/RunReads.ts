/**
 * Reads of single runs, grouped so that concurrent callers share one statement: whole runs, pages of entries, and the first
 * unfinished runs of an address. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlConnection } from "effect/sql"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { RunHead, RunReader } from "../../../services/RunReader.ts"
import type { RunId, Address, Tenant } from "../../../src/value/Ids.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { byPlace, journalRowDecoder, journalRowReader } from "../engine/DecodedRows.ts"
import { events_bytes, events_text, eventsOf } from "../engine/EventRows.ts"
import * as GroupedReads from "../engine/GroupedReads.ts"
import { orJournalError } from "../engine/SqlFailure.ts"
import {
  entriesIn,
  head_columns,
  headOf,
  HeadRow,
  page,
  wholeEntries,
  wholeHeads,
  WholeRow
} from "./RunRows.ts"
import type { TenantReads } from "../engine/TenantReads.ts"
import { isQuarantined, RunCode } from "./Codes.ts"

/**
 * The most runs in one statement, and the most bytes of their events together. The events of runs beyond that are read one by
 * one.
 */
const whole_max = 512
const bytes_max = 8_000_000

export interface WholeRun {
  readonly head: RunHead
  /** All entries of the run: as many as `head.length`. */
  readonly entries: ReadonlyArray<JournalEntry>
}

const decodeRows = journalRowDecoder(WholeRow, "runs")

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

/**
 * Makes the function that reads a run as it is at one moment, in one statement with the runs that others ask for meanwhile.
 * Undefined: there is no such run.
 */
export const whole = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<
  (run: RunId) => Effect.Effect<WholeRun | undefined, RunQuarantined | JournalError>,
  never,
  Scope.Scope
> {
  const read = yield* GroupedReads.make({
    sql,
    batch_max: whole_max,
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
    return { head, entries: yield* wholeEntries(sql, head, row.entries) }
  })
})

/** The most keys in one statement. */
const batch_max = 128
const read_max = 10_000
const runs_max = 10_000

/**
 * The most entries and heads that a shared statement reads for one key. A caller who asks for more has a statement of its own.
 */
const few_entries = 16
const few_heads = 4
/** The most bytes of events that a shared statement reads for one key. Larger pages are read alone. */
const few_bytes = 100_000

interface Page {
  readonly run: RunId
  readonly from: number
  readonly limit: number
}

const PageRow = Schema.Struct({
  place: Schema.Int,
  length: Schema.Int,
  status: RunCode,
  entries: Schema.NullOr(Schema.String)
})
const readPages = journalRowReader(PageRow, "events of runs")

// Each row is found by an index probe for its key: as another kind of join, the whole table would be read.
const wanted = eventsOf("r.run_id", "w.first", "least(w.last, r.length)")
const pages = `SELECT w.place::int4 AS place, r.length, r.status,
  CASE WHEN (SELECT sum(octet_length(e.payload)) FROM ${wanted} e) <= ${few_bytes} THEN
    (SELECT '[' || string_agg('[' || e.at || ',' || e.payload || ']', ',' ORDER BY e.seq) || ']' FROM ${wanted} e)
  END AS entries
  FROM unnest($1::text[], $2::int4[], $3::int4[]) WITH ORDINALITY AS w(run, first, last, place)
  CROSS JOIN LATERAL (SELECT run_id, length, status FROM troupe.runs WHERE run_id = w.run::uuid OFFSET 0) r`

/** The entries in a row, for its key. Undefined: the key must be read alone, which also finds out what is wrong. */
const entriesOf = (
  { from, limit }: Page,
  row: typeof PageRow.Type | undefined
): ReadonlyArray<JournalEntry> | undefined => {
  if (row === undefined) return []
  const count = Math.max(0, Math.min(row.length - from, limit))
  if (count === 0) return isQuarantined(row.status) ? undefined : []
  const entries = row.entries === null ? undefined : entriesIn(row.entries, from)
  return entries?.length === count ? entries : undefined
}

const reading = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const few = yield* GroupedReads.make({
    sql,
    batch_max,
    read: (of: ReadonlyArray<Page>) =>
      Effect.map(
        readPages(sql, pages, [
          of.map(({ run }) => run),
          of.map(({ from }) => from),
          of.map(({ from, limit }) => from + limit)
        ]),
        (rows) => {
          const found = byPlace(of, rows)
          return of.map((each, i) => entriesOf(each, found[i]))
        }
      )
  })
  return (run: RunId, from: number, limit: number) =>
    limit > few_entries
      ? page(sql, run, from, limit)
      : Effect.flatMap(Effect.mapError(few({ run, from, limit }), orJournalError), (entries) =>
          entries === undefined ? page(sql, run, from, limit) : Effect.succeed(entries)
        )
})

interface First {
  readonly tenant: Tenant
  readonly address: Address
  readonly limit: number
}

const readHeads = journalRowReader(
  Schema.Struct({ place: Schema.Int, ...HeadRow.fields }),
  "heads of runs"
)

const firsts = `SELECT w.place::int4 AS place, ${head_columns}
  FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[]) WITH ORDINALITY AS w(tenant, agent, address_key, n, place)
  CROSS JOIN LATERAL (SELECT * FROM troupe.run_details
    WHERE tenant = w.tenant AND agent = w.agent AND address_key = w.address_key AND open ORDER BY ordinal LIMIT w.n) d
  CROSS JOIN LATERAL (SELECT * FROM troupe.runs WHERE run_id = d.run_id OFFSET 0) r
  ORDER BY w.place, d.ordinal`

const unfinishing = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const few = yield* GroupedReads.make({
    sql,
    batch_max,
    read: (of: ReadonlyArray<First>) =>
      Effect.map(
        readHeads(sql, firsts, [
          of.map(({ tenant }) => tenant),
          of.map(({ address }) => address.agent),
          of.map(({ address }) => address.key),
          of.map(({ limit }) => limit)
        ]),
        (rows) => {
          const heads: Array<Array<RunHead>> = of.map(() => [])
          for (const row of rows) heads[row.place - 1]?.push(headOf(row))
          return heads
        }
      )
  })
  return (tenant: Tenant, address: Address, limit: number) =>
    limit > few_heads
      ? wholeHeads(
          sql.unsafe(
            `SELECT ${head_columns} FROM troupe.run_details d JOIN troupe.runs r ON r.run_id = d.run_id
             WHERE d.tenant = $1::text AND d.agent = $2::text AND d.address_key = $3::text AND d.open
             ORDER BY d.ordinal LIMIT $4::int4`,
            [tenant, address.agent, address.key, Math.min(limit, runs_max)]
          )
        )
      : Effect.mapError(few({ tenant, address, limit }), orJournalError)
})

type Reads = Pick<RunReader["Service"], "read" | "readFor" | "unfinished">

export const make = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  reads: TenantReads["Service"]
): Effect.fn.Return<Reads, never, Scope.Scope> {
  const read = yield* reading(sql)
  const upTo = (limit: number) => Math.min(Math.max(limit, 0), read_max)
  return {
    read: (run, from, limit) => read(run, Math.max(from, 0), upTo(limit)),
    readFor: (tenant, run, from, limit) =>
      Effect.mapError(
        reads.of(tenant)(page(sql, run, Math.max(from, 0), upTo(limit), tenant)),
        orJournalError
      ),
    unfinished: yield* unfinishing(sql)
  }
})
