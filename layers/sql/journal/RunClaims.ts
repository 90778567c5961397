/**
 * Claims of runs, those of a recovery in groups: one statement takes a run and reads its events, and those that wait
 * meanwhile share the next one. Private to this room.
 */
import { Clock, Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import type { Claim, RunJournal } from "../../../services/RunJournal.ts"
import { FencedOff, JournalError } from "../../../services/RunJournal.ts"
import type { RunId } from "../../../src/Ids.ts"
import { RunIsOver, RunNotFound } from "../../../src/run/RunCommand.ts"
import { spanned } from "../../../src/Spanned.ts"
import { run_over, runCode } from "./Codes.ts"
import type { Item } from "./GroupCommit.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { entries, entriesIn, find, HeadRow, headOf, whyOf } from "./RunRows.ts"
import { journalRowDecoder } from "../engine/DecodedRows.ts"
import { isInTransaction, orJournalError, toJournalError } from "../engine/SqlFailure.ts"

interface Wanted extends Item {
  readonly lane: RunId
  readonly owner: string
  /** -1 = whatever its epoch. */
  readonly seen: number
  /** ms since 1970. */
  readonly at: number
}

const ClaimRow = Schema.Struct({
  ...HeadRow.fields,
  /** Null where the events are too many for one row. */
  entries: Schema.NullOr(Schema.String)
})
const decodeClaims = journalRowDecoder(ClaimRow, "claimed runs")

/** Claims of one statement: each may bring events of 1,000,000 bytes. */
const batch_max = 32
/** Claims that may wait: one an actor that begins. */
const queue_max = 100_000

const statement = `SELECT * FROM troupe.claim_runs($1::text[], $2::int4[], $3::text[], $4::text[], $5::text[], $6::boolean)`

const claims = (
  sql: SqlClient.SqlClient,
  batch: ReadonlyArray<Wanted>,
  waits: boolean
): Effect.Effect<ReadonlyArray<SqlConnection.Row>, SqlError.SqlError> =>
  sql.unsafe(statement, [
    batch.map(({ lane }) => lane),
    batch.map(({ seen }) => seen),
    batch.map(({ owner }) => owner),
    batch.map(({ owner }) => JSON.stringify(owner)),
    // As text: an array of numbers beyond int4 is not encoded alike by the two engines.
    batch.map(({ at }) => String(at)),
    waits
  ])

/** The row of each, as it came: one that cannot be read fails alone, because the others are claimed by then. */
const commitBatch = (sql: SqlClient.SqlClient) => (batch: ReadonlyArray<Wanted>) =>
  Effect.mapBoth(claims(sql, batch, false), {
    onFailure: toJournalError,
    onSuccess: (rows) => {
      const taken = new Map(rows.map((row) => [row["run_id"], [row]]))
      return batch.map(({ lane }) => taken.get(lane) ?? [])
    }
  })

/** Waits for the transaction that holds the run, then claims it alone. A refusal is made from the head as it then is. */
const claimWhenFree = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, wanted: Wanted) {
  const run = wanted.lane
  const [row] = yield* Effect.mapError(
    Effect.flatMap(claims(sql, [wanted], true), decodeClaims),
    orJournalError
  )
  if (row !== undefined) return row
  const known = yield* Effect.mapError(find(sql, run), orJournalError)
  if (known === undefined) return yield* new RunNotFound({ run_id: run })
  if (known.quarantined === true) {
    return yield* Effect.flatMap(whyOf(sql, run), Effect.fail)
  }
  return yield* runCode(known.status) < run_over
    ? new FencedOff({ run_id: run, epoch: known.epoch })
    : new RunIsOver({ run_id: run, status: known.status })
})

/** In the ambient transaction, if there is one, otherwise with the claims of others. */
export const make = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<RunJournal["Service"]["claim"], never, Scope.Scope> {
  const take = yield* GroupCommit.make({
    commit: commitBatch(sql),
    batch_max,
    batch_size_max: batch_max,
    queue_max,
    overflow: () => new JournalError({ message: "too many claims wait", lost: false })
  })
  const claim = Effect.fnUntraced(function* (run: RunId, owner: string, seen = -1) {
    const at = yield* Clock.currentTimeMillis
    const wanted: Wanted = { lane: run, size: 1, owner, seen, at }
    const isWithin = isInTransaction(sql, yield* Effect.fiber)
    const [taken] = isWithin ? [] : yield* decodeClaims(yield* take(wanted))
    const row = taken ?? (yield* claimWhenFree(sql, wanted))
    const head = headOf(row)
    const read = row.entries === null ? undefined : entriesIn(row.entries)
    const claimed: Claim = {
      head,
      // What a foreign command appends from now on is met at the first append.
      entries: read?.length === head.length ? read : yield* entries(sql, run, 0, head.length)
    }
    return claimed
  })
  return spanned("RunJournal.claim", claim)
})
