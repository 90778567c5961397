/**
 * Rows of the journal's tables as the port's shapes. What is stored is decoded here and nowhere else. Private to this room.
 */
import { Effect, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { RunHead } from "../../services/RunJournal.ts"
import { JournalError } from "../../services/RunJournal.ts"
import type { Address, ConversationId, RunId, Tenant } from "../../src/Ids.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import { RunEvent } from "../../src/run/RunEvent.ts"
import { run_rests, runStatus } from "./Codes.ts"
import { toJournalError } from "./SqlFailure.ts"

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
}

/** The columns of a HeadRow, where `r` is a run and `d` its details; an owner without a lease is none. */
export const head_columns = `r.run_id, r.tenant, d.agent, d.address_key, d.conversation, d.ordinal, r.status, r.epoch, r.length, d.created_at,
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
  rests: row.status === run_rests
})

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

const entriesOf = (
  run: RunId,
  rows: ReadonlyArray<EventRow>
): Effect.Effect<ReadonlyArray<JournalEntry>, JournalError> => {
  const entries: Array<JournalEntry> = []
  for (const { at, payload, seq } of rows) {
    const event = Result.flatMap(parsed(payload), decode)
    if (Result.isFailure(event)) {
      return Effect.fail(
        new JournalError({ message: `event ${seq} of run ${run} cannot be read`, lost: false })
      )
    }
    entries.push({ seq, at: Number(at), event: event.success })
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

/** Entries from `from` up to and without `to`, in order. */
export const entries = (
  sql: SqlClient.SqlClient,
  run: RunId,
  from: number,
  to: number
): Effect.Effect<ReadonlyArray<JournalEntry>, JournalError> =>
  Effect.flatMap(
    Effect.mapError(
      sql.unsafe<EventRow>(
        `SELECT seq, at, payload FROM troupe.run_events
         WHERE run_id = $1::uuid AND seq >= $2::int4 AND seq < $3::int4 ORDER BY seq`,
        [run, from, to]
      ),
      toJournalError
    ),
    (rows) => entriesOf(run, rows)
  )

/** The head as it is now; with `lock` nobody else writes the run until the transaction ends. */
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
