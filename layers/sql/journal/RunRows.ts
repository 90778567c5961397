/**
 * Rows of the journal's tables as the port's shapes. What is stored is decoded here and nowhere else. Private to this room.
 */
import { Effect, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { RunHead } from "../../../services/RunJournal.ts"
import { JournalError } from "../../../services/RunJournal.ts"
import type { Address, ConversationId, RunId, Tenant } from "../../../src/Ids.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import { RunEvent } from "../../../src/run/RunEvent.ts"
import type { QuarantineReason } from "../../../src/run/Quarantine.ts"
import { RunQuarantined } from "../../../src/run/Quarantine.ts"
import { isQuarantined, run_quarantined, run_parked, runStatus } from "./Codes.ts"
import { toJournalError } from "../engine/SqlFailure.ts"

export interface HeadRow {
  readonly run_id: string
  readonly tenant: string
  readonly agent: string
  readonly address_key: string
  readonly conversation: string
  readonly ordinal: number
  readonly status: number
  readonly epoch: number
  readonly length: number
  readonly owner: string | null
  readonly created_at: bigint
  /** Absent in a claim: it forgets them. */
  readonly needs?: ReadonlyArray<string>
}

/** The columns of a HeadRow, where `r` is a run and `d` its details; an owner without a lease is none. */
export const head_columns = `r.run_id, r.tenant, d.agent, d.address_key, d.conversation, d.ordinal, r.status, r.epoch, r.length, d.created_at, d.needs,
  (SELECT p.owner FROM troupe.processes p WHERE p.owner = d.owner AND p.expires_at > clock_timestamp()) AS owner`

export const headOf = (row: HeadRow): RunHead => ({
  run_id: row.run_id as RunId,
  tenant: row.tenant as Tenant,
  address: { agent: row.agent, key: row.address_key } as Address,
  conversation: row.conversation as ConversationId,
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

export const heads = (
  rows: Effect.Effect<ReadonlyArray<HeadRow>, SqlError.SqlError>
): Effect.Effect<ReadonlyArray<RunHead>, JournalError> =>
  Effect.mapBoth(rows, { onSuccess: (all) => all.map(headOf), onFailure: toJournalError })

interface EventRow {
  readonly seq: number
  readonly at: bigint
  readonly payload: string
}

// Compiled once: a resume decodes everything that ever happened to a run. What this version wrote has no default to be
// filled in, and to look for them is most of the time that the event takes which begins a run.
const complete = Schema.decodeUnknownResult(Schema.toType(RunEvent))
const older = Schema.decodeUnknownResult(RunEvent)
const decode = (event: unknown) => Result.orElse(complete(event), () => older(event))

const parsed = (text: string) => Result.try((): unknown => JSON.parse(text))

/** Of those that this version knows. */
const known: ReadonlySet<unknown> = new Set(
  RunEvent.members.map(({ fields }) => fields._tag.ast.literal)
)

const isUnknown = (event: Result.Result<unknown, unknown>): boolean => {
  if (Result.isFailure(event)) return false
  const given = event.success
  return (
    typeof given === "object" &&
    given !== null &&
    "_tag" in given &&
    typeof given._tag === "string" &&
    !known.has(given._tag)
  )
}

/** An event as it is stored; undefined where it cannot be read. */
export const eventIn = (text: string): RunEvent | undefined =>
  Result.getOrUndefined(Result.flatMap(parsed(text), decode))

/** The entries of these rows, of which there must be `count`, from `from` on without a gap. */
const entriesOf = (
  run_id: RunId,
  rows: ReadonlyArray<EventRow>,
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

/** Entries from the first on, as one JSON text of times and events; undefined where it cannot be read. */
export const entriesIn = (text: string): ReadonlyArray<JournalEntry> | undefined => {
  const all = parsed(text)
  if (Result.isFailure(all)) return undefined
  const entries: Array<JournalEntry> = []
  for (const [at, payload] of all.success as ReadonlyArray<readonly [number, unknown]>) {
    const event = decode(payload)
    if (Result.isFailure(event)) return undefined
    entries.push({ seq: entries.length, at, event: event.success })
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
      sql.unsafe<EventRow>(
        `SELECT seq, at, payload FROM troupe.run_events
         WHERE run_id = $1::uuid AND seq >= $2::int4 AND seq < $3::int4 ORDER BY seq`,
        [run, from, to]
      ),
      toJournalError
    ),
    (rows) => entriesOf(run, rows, from, to - from)
  )

interface PageRow {
  readonly length: number
  readonly status: number
  readonly seq: number | null
  readonly at: bigint
  readonly payload: string
}

/**
 * At most `limit` entries from `from` on, in order; an unknown run has none. The head is read in the same statement: it
 * says how many there are to be. Behind the last one of a run in quarantine it fails: no more will follow.
 */
export const page = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: RunId,
  from: number,
  limit: number
) {
  const rows = yield* Effect.mapError(
    sql.unsafe<PageRow>(
      `SELECT r.length, r.status, e.seq, e.at, e.payload FROM troupe.runs r
         LEFT JOIN troupe.run_events e ON e.run_id = r.run_id AND e.seq >= $2::int4 AND e.seq < $3::int4
       WHERE r.run_id = $1::uuid ORDER BY e.seq`,
      [run, from, from + limit]
    ),
    toJournalError
  )
  const [first] = rows
  if (first === undefined) return []
  const found = rows.filter((row): row is PageRow & EventRow => row.seq !== null)
  const count = Math.max(0, Math.min(first.length - from, limit))
  if (count === 0 && isQuarantined(first.status)) return yield* yield* whyOf(sql, run)
  return yield* entriesOf(run, found, from, count)
})

/** Why a run that is marked is. */
export const whyOf = (
  sql: SqlClient.SqlClient,
  run: RunId
): Effect.Effect<RunQuarantined, JournalError> =>
  Effect.mapBoth(
    sql.unsafe<{ readonly reason: string; readonly seq: number }>(
      `SELECT reason, seq FROM troupe.quarantine WHERE run_id = $1::uuid`,
      [run]
    ),
    {
      onFailure: toJournalError,
      onSuccess: ([row]) =>
        new RunQuarantined({
          run_id: run,
          reason: (row?.reason ?? "unfoldable") as QuarantineReason,
          seq: row?.seq ?? 0
        })
    }
  )

/** The head as it is now; with `lock` no other transaction writes the run until this one ends. */
export const find = (
  sql: SqlClient.SqlClient,
  run: RunId,
  lock: "" | "FOR UPDATE OF r" = ""
): Effect.Effect<RunHead | undefined, SqlError.SqlError> =>
  Effect.map(
    sql.unsafe<HeadRow>(
      `SELECT ${head_columns} FROM troupe.runs r JOIN troupe.run_details d ON d.run_id = r.run_id
       WHERE r.run_id = $1::uuid ${lock}`,
      [run]
    ),
    ([row]) => (row === undefined ? undefined : headOf(row))
  )
