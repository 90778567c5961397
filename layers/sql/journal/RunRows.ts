/**
 * Rows of the journal's tables as the port's shapes. What is stored is decoded here and nowhere else. Private to this room.
 */
import { Effect, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { RunHead } from "../../../services/RunJournal.ts"
import { JournalError } from "../../../services/RunJournal.ts"
import { AgentName, ConversationId, RunId, Tenant } from "../../../src/Ids.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { RunEvent } from "../../../src/run/RunEvent.ts"
import { QuarantineReason, RunQuarantined } from "../../../src/run/Quarantine.ts"
import { isQuarantined, RunCode, run_quarantined, run_parked, runStatus } from "./Codes.ts"
import { journalRowDecoder, readableRows } from "../engine/DecodedRows.ts"
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
  /** Absent in a claim: it forgets them. */
  needs: Schema.optionalKey(Schema.Array(Schema.String))
})
const decodeHeads = journalRowDecoder(HeadRow, "heads of runs")
const decodeReadableHeads = readableRows(HeadRow, "heads of runs")

/** The columns of a HeadRow, where `r` is a run and `d` its details; an owner without a lease is none. */
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

/** Heads of which none may be missing, as where they are in order. */
export const wholeHeads = (rows: Rows): Effect.Effect<ReadonlyArray<RunHead>, JournalError> =>
  Effect.mapBoth(Effect.flatMap(rows, decodeHeads), {
    onSuccess: (all) => all.map(headOf),
    onFailure: orJournalError
  })

/** Heads that are independent of each other: one that cannot be read keeps nobody from the others. */
export const readableHeads = (rows: Rows): Effect.Effect<ReadonlyArray<RunHead>, JournalError> =>
  Effect.mapBoth(Effect.flatMap(rows, decodeReadableHeads), {
    onSuccess: (all) => all.map(headOf),
    onFailure: toJournalError
  })

/** The payload is decoded apart: one that cannot be read says where the run is at fault. */
const EventRow = Schema.Struct({ seq: Schema.Int, at: Schema.BigInt, payload: Schema.String })
const decodeEvents = journalRowDecoder(EventRow, "events of a run")

const tagOf = (event: unknown): unknown =>
  typeof event === "object" && event !== null && "_tag" in event ? event._tag : undefined

// Compiled once, and each found by its tag: a resume decodes everything that ever happened to a run, and a union looks for its
// member first (bench row `answers`). What this version wrote has no default to be filled in, and to look for them is most of the
// time that the event takes which begins a run.
const complete = new Map<unknown, (event: unknown) => Result.Result<RunEvent, Schema.SchemaError>>(
  RunEvent.members.map((member) => [
    member.fields._tag.ast.literal,
    Schema.decodeUnknownResult(Schema.toType<Schema.Schema<RunEvent>>(member))
  ])
)
const older = Schema.decodeUnknownResult(RunEvent)
const decode = (event: unknown) => {
  const given = complete.get(tagOf(event))?.(event)
  return given !== undefined && Result.isSuccess(given) ? given : older(event)
}

/** Our own text, which a claim reads by the thousand: a schema's decoder of JSON text takes longer (bench row `resume`). */
const parsed = (text: string) => Result.try((): unknown => JSON.parse(text))

const isUnknown = (event: Result.Result<unknown, unknown>): boolean => {
  const tag = Result.isSuccess(event) ? tagOf(event.success) : undefined
  return typeof tag === "string" && !complete.has(tag)
}

/** An event as it is stored; undefined where it cannot be read. */
export const eventIn = (text: string): RunEvent | undefined =>
  Result.getOrUndefined(Result.flatMap(parsed(text), decode))

/** The entries of these rows, of which there must be `count`, from `from` on without a gap. */
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
    const text = parsed(row.payload)
    const event = Result.flatMap(text, decode)
    if (Result.isFailure(event)) {
      const reason = isUnknown(text) ? "unknown_event" : "unreadable"
      return Effect.fail(new RunQuarantined({ run_id, reason, seq }))
    }
    entries.push({ seq, at: Number(row.at), event: event.success })
  }
  return Effect.succeed(entries)
}

const isTimed = (pair: unknown): pair is readonly [at: number, payload: unknown] =>
  Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "number"

/** Entries from `from` on, as one JSON text of times and events; undefined where it cannot be read. */
export const entriesIn = (text: string, from = 0): ReadonlyArray<JournalEntry> | undefined => {
  const all = parsed(text)
  if (Result.isFailure(all)) return undefined
  if (!Array.isArray(all.success)) return undefined
  const entries: Array<JournalEntry> = []
  for (const pair of all.success) {
    if (!isTimed(pair)) return undefined
    const [at, payload] = pair
    const event = decode(payload)
    if (Result.isFailure(event)) return undefined
    entries.push({ seq: from + entries.length, at, event: event.success })
  }
  return entries
}

/** Entries from `from` up to and without `to`, in order: the run has at least `to`. */
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
/** The head alone where there is no event. */
const decodePage = journalRowDecoder(
  Schema.Union([
    Schema.Struct({ ...head, ...EventRow.fields }),
    Schema.Struct({ ...head, seq: Schema.Null })
  ]),
  "events of a run"
)

/**
 * At most `limit` entries from `from` on, in order; an unknown run has none, nor one of another tenant than is named. The head
 * is read in the same statement: it says how many there are to be. Behind the last one of a run in quarantine it fails: no more
 * will follow.
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

const decodeMarks = journalRowDecoder(
  Schema.Struct({ reason: QuarantineReason, seq: Schema.Int }),
  "marks of quarantine"
)

/** Why a run that is marked is. */
export const whyOf = (
  sql: SqlClient.SqlClient,
  run: RunId
): Effect.Effect<RunQuarantined, JournalError> =>
  Effect.mapBoth(
    Effect.flatMap(
      sql.unsafe(`SELECT reason, seq FROM troupe.quarantine WHERE run_id = $1::uuid`, [run]),
      decodeMarks
    ),
    {
      onFailure: orJournalError,
      onSuccess: ([row]) =>
        new RunQuarantined({
          run_id: run,
          reason: row?.reason ?? "unfoldable",
          seq: row?.seq ?? 0
        })
    }
  )

/** The head as it is now; with `lock` no other transaction writes the run until this one ends. */
export const find = (
  sql: SqlClient.SqlClient,
  run: RunId,
  lock: "" | "FOR UPDATE OF r" = ""
): Effect.Effect<RunHead | undefined, SqlError.SqlError | JournalError> =>
  Effect.map(
    Effect.flatMap(
      sql.unsafe(
        `SELECT ${head_columns} FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
         WHERE r.run_id = $1::uuid ${lock}`,
        [run]
      ),
      decodeHeads
    ),
    ([row]) => (row === undefined ? undefined : headOf(row))
  )
