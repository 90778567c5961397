/**
 * Reads of single runs, grouped so that concurrent callers share one statement: a page of a run's entries, and the first
 * unfinished runs of an address. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { SqlClient } from "effect/sql"
import type { RunHead, RunReader } from "../../../services/RunReader.ts"
import type { Address, RunId, Tenant } from "../../../src/value/Ids.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { journalRowDecoder } from "../engine/DecodedRows.ts"
import { eventsOf } from "../engine/EventRows.ts"
import * as GroupedReads from "../engine/GroupedReads.ts"
import { orJournalError } from "../engine/SqlFailure.ts"
import type { TenantReads } from "../engine/TenantReads.ts"
import { isQuarantined, RunCode } from "./Codes.ts"
import { entriesIn, head_columns, HeadRow, headOf, page, wholeHeads } from "./RunRows.ts"

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

const decodePages = journalRowDecoder(
  Schema.Struct({
    place: Schema.Int,
    length: Schema.Int,
    status: RunCode,
    entries: Schema.NullOr(Schema.String)
  }),
  "events of runs"
)

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
  row: Effect.Success<ReturnType<typeof decodePages>>[number] | undefined
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
        Effect.flatMap(
          sql.unsafe(pages, [
            of.map(({ run }) => run),
            of.map(({ from }) => from),
            of.map(({ from, limit }) => from + limit)
          ]),
          decodePages
        ),
        (rows) => {
          const found = new Map(rows.map((row) => [row.place, row]))
          return of.map((each, i) => entriesOf(each, found.get(i + 1)))
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

const decodeHeads = journalRowDecoder(
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
        Effect.flatMap(
          sql.unsafe(firsts, [
            of.map(({ tenant }) => tenant),
            of.map(({ address }) => address.agent),
            of.map(({ address }) => address.key),
            of.map(({ limit }) => limit)
          ]),
          decodeHeads
        ),
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
