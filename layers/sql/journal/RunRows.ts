/**
 * Converts rows of the journal's tables to the port's shapes. Only this module decodes stored heads and events. Private to this
 * room.
 */
import { Effect, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { JournalError } from "../../../services/RunJournal.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import { entriesAfter, first_page } from "../../../services/RunReader.ts"
import { AgentName, ConversationId, RunId, Tenant } from "../../../src/value/Ids.ts"
import { withCopiedResult } from "../../../src/run/CallResult.ts"
import {
  decodeEvent,
  isUnknownEvent,
  QuarantineReason,
  RunQuarantined
} from "../../../src/run/Quarantine.ts"
import type { JournalEntry, RunEvent } from "../../../src/run/RunEvent.ts"
import { isQuarantined, RunCode, run_quarantined, run_parked, runStatus } from "./Codes.ts"
import { journalRowDecoder, journalRowReader, readableRows } from "../engine/DecodedRows.ts"
import { eventsOf } from "../engine/EventRows.ts"
import { orJournalError, toJournalError } from "../engine/SqlFailure.ts"

export const HeadRow = Schema.Struct({
  run_id: RunId,
  tenant: Tenant,
  agent: AgentName,
  address_key: ConversationId,
  conversation: ConversationId,
  ordinal: Schema.Int,
  status: RunCode,
  epoch: Schema.Int,
  length: Schema.Int,
  owner: Schema.NullOr(Schema.String),
  created_at: Schema.BigInt,
  /** Absent in the row of a claim, because a claim removes the needs. */
  needs: Schema.optionalKey(Schema.Array(Schema.String))
})
/** A head with its entries as JSON text; null where they are too many for one row, or for one statement. */
export const WholeRow = Schema.Struct({
  ...HeadRow.fields,
  entries: Schema.NullOr(Schema.String)
})
const decodeHeads = journalRowDecoder(HeadRow, "heads of runs")
const readHeads = journalRowReader(HeadRow, "heads of runs")
const decodeReadableHeads = readableRows(HeadRow, "heads of runs")

/** The columns of a HeadRow, where `r` is a run and `d` its details. An owner without a valid lease is null. */
export const head_columns = `r.run_id, r.tenant, d.agent, d.address_key, d.conversation, d.ordinal, r.status, r.epoch, r.length, d.created_at, d.needs,
  (SELECT p.owner FROM troupe.processes p WHERE p.owner = d.owner AND p.expires_at > clock_timestamp()) AS owner`

export const headOf = (row: typeof HeadRow.Type): RunHead => ({
  run_id: row.run_id,
  tenant: row.tenant,
  address: { agent: row.agent, key: row.address_key },
  conversation: row.conversation,
  ordinal: row.ordinal,
  status: runStatus(row.status),
  epoch: row.epoch,
  length: row.length,
  owner: row.owner ?? undefined,
  created_at: Number(row.created_at),
  parkable: row.status === run_parked || row.status === run_parked + run_quarantined,
  ...(isQuarantined(row.status) ? { quarantined: true } : undefined),
  ...(row.needs === undefined || row.needs.length === 0 ? undefined : { needs: row.needs })
})

type Rows = Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>

/** Heads in an order that matters, of which none may be left out: one that cannot be read fails the whole read. */
export const wholeHeads = (rows: Rows): Effect.Effect<ReadonlyArray<RunHead>, JournalError> =>
  Effect.mapBoth(Effect.flatMap(rows, decodeHeads), {
    onSuccess: (all) => all.map(headOf),
    onFailure: orJournalError
  })

/** Heads that do not depend on each other: one that cannot be read is left out and logged. */
export const readableHeads = (rows: Rows): Effect.Effect<ReadonlyArray<RunHead>, JournalError> =>
  Effect.mapBoth(Effect.flatMap(rows, decodeReadableHeads), {
    onSuccess: (all) => all.map(headOf),
    onFailure: toJournalError
  })

/** The payload is decoded separately, so that an unreadable one can be reported with its seq. */
const EventRow = Schema.Struct({ seq: Schema.Int, at: Schema.BigInt, payload: Schema.String })
const decodeEvents = journalRowDecoder(EventRow, "events of a run")

/**
 * Parses JSON text that this room wrote. A claim parses thousands of them, and a schema's decoder of JSON text takes longer
 * (bench rows `resume` and `answers`).
 */
export const parsedJson = (text: string) => Result.try((): unknown => JSON.parse(text))

/** Decodes a stored event; undefined where it cannot be read. */
export const eventIn = (text: string): RunEvent | undefined =>
  Result.getOrUndefined(Result.flatMap(parsedJson(text), decodeEvent))

/** Decodes `count` entries from `from` on. Fails with RunQuarantined where one is missing or cannot be read. */
const entriesOf = (
  run_id: RunId,
  rows: ReadonlyArray<typeof EventRow.Type>,
  from: number,
  count: number
): Effect.Effect<ReadonlyArray<JournalEntry>, RunQuarantined> => {
  const entries: Array<JournalEntry> = []
  for (let i = 0; i < count; i++) {
    const seq = from + i
    const row = rows[i]
    if (row === undefined || row.seq !== seq) {
      return Effect.fail(new RunQuarantined({ run_id, reason: "gap", seq }))
    }
    const text = parsedJson(row.payload)
    const event = Result.flatMap(text, decodeEvent)
    if (Result.isFailure(event)) {
      const isUnknown = Result.isSuccess(text) && isUnknownEvent(text.success)
      const reason = isUnknown ? "unknown_event" : "unreadable"
      return Effect.fail(new RunQuarantined({ run_id, reason, seq }))
    }
    entries.push({ seq, at: Number(row.at), event: event.success })
  }
  return Effect.succeed(entries)
}

const isTimed = (pair: unknown): pair is readonly [at: number, payload: unknown] =>
  Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "number"

/**
 * Decodes entries from one JSON text, an array of pairs of time and event; the first has the seq `from`. Undefined where the text
 * cannot be read.
 */
export const entriesIn = (text: string, from = 0): ReadonlyArray<JournalEntry> | undefined => {
  const all = Result.getOrUndefined(parsedJson(text))
  if (!Array.isArray(all)) return undefined
  const entries: Array<JournalEntry> = []
  for (const pair of all) {
    if (!isTimed(pair)) return undefined
    const [at, payload] = pair
    const event = decodeEvent(payload)
    if (Result.isFailure(event)) return undefined
    entries.push({ seq: from + entries.length, at, event: event.success })
  }
  return entries
}

/**
 * The entries of a run, of which there must be `length`, for its fold: read in pieces, with the model's copies in place of long
 * results. Otherwise a run of many long results could not be loaded where its state has room.
 */
export const foldableEntries = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: RunId,
  length: number
) {
  const all: Array<JournalEntry> = []
  for (let limit = first_page; all.length < length;) {
    const page = yield* entries(sql, run, all.length, Math.min(all.length + limit, length))
    for (const entry of page) all.push({ ...entry, event: withCopiedResult(entry.event) })
    limit = entriesAfter(page, limit, length)
  }
  return all
})

/**
 * The entries of the run with this head: those in a JSON text, or, where it lacks any or was too long for its row (null), those
 * that are read now.
 */
export const wholeEntries = (
  sql: SqlClient.SqlClient,
  { length, run_id }: RunHead,
  text: string | null
) => {
  const all = text === null ? undefined : entriesIn(text)
  return all?.length === length ? Effect.succeed(all) : foldableEntries(sql, run_id, length)
}

/**
 * Entries from `from` up to, but not including, `to`, in order. The run must have at least `to` entries, otherwise it fails with
 * RunQuarantined.
 */
export const entries = (
  sql: SqlClient.SqlClient,
  run: RunId,
  from: number,
  to: number
): Effect.Effect<ReadonlyArray<JournalEntry>, JournalError | RunQuarantined> =>
  Effect.flatMap(
    Effect.mapError(
      sql.unsafe(
        `SELECT e.seq, e.at, e.payload FROM ${eventsOf("$1::uuid", "$2::int4", "$3::int4")} e ORDER BY e.seq`,
        [run, from, to]
      ),
      toJournalError
    ),
    (rows) =>
      Effect.flatMap(decodeEvents(rows), (events) => entriesOf(run, events, from, to - from))
  )

const head = { length: Schema.Int, status: RunCode }
/** A row has only the head's columns if there is no event in the range. */
const decodePage = journalRowDecoder(
  Schema.Union([
    Schema.Struct({ ...head, ...EventRow.fields }),
    Schema.Struct({ ...head, seq: Schema.Null })
  ]),
  "events of a run"
)

/**
 * At most `limit` entries from `from` on, in order. An unknown run has none, and so has a run of another tenant than `tenant`, if
 * that is given. The same statement reads the head, which says how many entries there must be. For a run in quarantine it fails
 * with RunQuarantined once there is no entry left to read, because no more will follow.
 */
export const page = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: RunId,
  from: number,
  limit: number,
  tenant?: Tenant
) {
  const found = yield* Effect.mapError(
    sql.unsafe(
      `SELECT r.length, r.status, e.seq, e.at, e.payload FROM troupe.runs r
         LEFT JOIN LATERAL ${eventsOf("r.run_id", "$2::int4", "$3::int4")} e ON true
       WHERE r.run_id = $1::uuid ${tenant === undefined ? "" : "AND r.tenant = $4::text"} ORDER BY e.seq`,
      [run, from, from + limit, ...(tenant === undefined ? [] : [tenant])]
    ),
    toJournalError
  )
  const rows = yield* decodePage(found)
  const [first] = rows
  if (first === undefined) return []
  const events = rows.filter((row) => row.seq !== null)
  const count = Math.max(0, Math.min(first.length - from, limit))
  if (count === 0 && isQuarantined(first.status)) return yield* yield* whyOf(sql, run)
  return yield* entriesOf(run, events, from, count)
})

const readMarks = journalRowReader(
  Schema.Struct({ reason: QuarantineReason, seq: Schema.Int }),
  "marks of quarantine"
)

/** Why a marked run is in quarantine. */
export const whyOf = (
  sql: SqlClient.SqlClient,
  run: RunId
): Effect.Effect<RunQuarantined, JournalError> =>
  Effect.mapBoth(
    readMarks(sql, "SELECT reason, seq FROM troupe.quarantine WHERE run_id = $1::uuid", [run]),
    {
      onFailure: orJournalError,
      onSuccess: ([mark]) =>
        new RunQuarantined({ run_id: run, ...(mark ?? { reason: "unfoldable", seq: 0 }) })
    }
  )

/**
 * The current head of the run; undefined if there is no such run. With `lock`, no other transaction can write the run until this
 * one ends.
 */
export const find = (
  sql: SqlClient.SqlClient,
  run: RunId,
  lock: "" | "FOR UPDATE OF r" = ""
): Effect.Effect<RunHead | undefined, SqlError.SqlError | JournalError> =>
  Effect.map(
    readHeads(
      sql,
      `SELECT ${head_columns} FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
       WHERE r.run_id = $1::uuid ${lock}`,
      [run]
    ),
    ([row]) => row && headOf(row)
  )
