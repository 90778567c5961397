/**
 * Claims runs. One statement claims runs and reads their events. Claims that arrive while it runs, as in a recovery, share the
 * next statement. Private to this room.
 */
import { Clock, Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import { FencedOff, JournalError } from "../../../services/RunJournal.ts"
import type { Claim, RunOwnership } from "../../../services/RunOwnership.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { RunIsOver, RunNotFound } from "../../../src/run/RunCommand.ts"
import { spanned } from "../../../src/value/Telemetry.ts"
import { run_over, runCode } from "./Codes.ts"
import type { Item } from "./GroupCommit.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { foldableEntries, entriesIn, find, HeadRow, headOf, whyOf } from "./RunRows.ts"
import { journalRowDecoder } from "../engine/DecodedRows.ts"
import { isInTransaction, orJournalError, toJournalError } from "../engine/SqlFailure.ts"

interface Wanted extends Item {
  readonly lane: RunId
  readonly owner: string
  /** The epoch at which the run was found to be free; -1 = claim it at any epoch. */
  readonly seen: number
  /** ms since 1970. */
  readonly at: number
}

const ClaimRow = Schema.Struct({
  ...HeadRow.fields,
  /** JSON text; null where the events are too many for one row. */
  entries: Schema.NullOr(Schema.String)
})
const decodeClaims = journalRowDecoder(ClaimRow, "claimed runs")

/** The most claims in one statement: each may return 1,000,000 bytes of events. */
const batch_max = 32
/** The most claims that may wait: at most one for each actor that begins. */
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
    // Times are passed as text, because the two engines encode arrays of numbers beyond int4 differently.
    batch.map(({ at }) => String(at)),
    waits
  ])

/**
 * Gives the undecoded row of each claim, none where it was not claimed. A row that cannot be read then fails its own claim only:
 * by then the others are claimed.
 */
const commitBatch = (sql: SqlClient.SqlClient) => (batch: ReadonlyArray<Wanted>) =>
  Effect.mapBoth(claims(sql, batch, false), {
    onFailure: toJournalError,
    onSuccess: (rows) => {
      const taken = new Map(rows.map((row) => [row["run_id"], [row]]))
      return batch.map(({ lane }) => taken.get(lane) ?? [])
    }
  })

/** Waits until the run is unlocked, then claims it alone. A refusal is derived from the head at that time. */
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

/**
 * Makes the function that claims a run: in the ambient transaction, if there is one, otherwise in one statement with other
 * claims.
 */
export const make = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient
): Effect.fn.Return<RunOwnership["Service"]["claim"], never, Scope.Scope> {
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
      // An event that a command from outside appends after this shows at the owner's first append, which is stale.
      entries: read?.length === head.length ? read : yield* foldableEntries(sql, run, head.length)
    }
    return claimed
  })
  return spanned("RunOwnership.claim", claim)
})
