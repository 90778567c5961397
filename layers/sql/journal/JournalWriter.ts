/**
 * Writes appends, and finds out why an append was refused. Private to this room.
 */
import { Clock, Effect, Exit, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Append } from "../../../services/RunJournal.ts"
import { FencedOff, JournalError, StaleAppend } from "../../../services/RunJournal.ts"
import { RunId } from "../../../src/value/Ids.ts"
import { isBeyondBytes } from "../../../src/value/CutText.ts"
import { journalRowDecoder, journalRowReader } from "../engine/DecodedRows.ts"
import type { EncodedAppend } from "./AppendStatement.ts"
import { encodeAppend, statementOf } from "./AppendStatement.ts"
import { isQuarantined, run_over } from "./Codes.ts"
import type { CommitListeners } from "./RunListeners.ts"
import { inTransaction, orJournalError } from "../engine/SqlFailure.ts"

export type Refusal = FencedOff | StaleAppend | JournalError

export const notWritten = (message: string) => new JournalError({ message, lost: false })

/**
 * The most bytes of an event that a caller asks to be written, as JSON in UTF-8. Every read of the run returns the event, and a
 * process of an earlier version accepts no row of more than 16 MiB from PostgreSQL.
 */
export const event_bytes_max = 10 * 2 ** 20

const isTooLarge = ({ payload }: EncodedAppend["events"][number]): boolean =>
  isBeyondBytes(payload, event_bytes_max)

/** Encodes an append at once, as an Exit. Fails where it has no events or an event is not JSON. */
export const encoded = (append: Append, at: number): Exit.Exit<EncodedAppend, JournalError> => {
  if (append.events.length === 0) return Exit.fail(notWritten("an append without events"))
  try {
    return Exit.succeed(encodeAppend(append, at))
  } catch {
    return Exit.fail(notWritten("an event that is not JSON"))
  }
}

/**
 * As `encoded`, but also fails where an event has more than `event_bytes_max` bytes. For events that a caller asks for, who then
 * gets the error.
 */
export const encodedWithin = (
  append: Append,
  at: number
): Exit.Exit<EncodedAppend, JournalError> => {
  const made = encoded(append, at)
  return Exit.isSuccess(made) && made.value.events.some(isTooLarge)
    ? Exit.fail(notWritten(`an event of more than ${event_bytes_max} bytes`))
    : made
}

const FenceRow = Schema.Struct({
  run_id: RunId,
  epoch: Schema.Int,
  length: Schema.Int,
  status: Schema.Int
})
const readFences = journalRowReader(FenceRow, "heads of runs")
export const decodePlaces = journalRowDecoder(
  Schema.Struct({ place: Schema.Int }),
  "refused appends"
)

const refusalOf = (item: EncodedAppend, row: typeof FenceRow.Type | undefined): Refusal => {
  const { fence, run } = item.append
  if (row === undefined) return notWritten("append to a run that was never created")
  if (row.epoch !== fence.epoch) return new FencedOff({ run_id: run, epoch: row.epoch })
  // StaleAppend makes the writer load the run and find that it is in quarantine.
  if (isQuarantined(row.status)) return new StaleAppend({ run_id: run, length: row.length })
  return row.length === fence.length && row.status >= run_over
    ? notWritten("append to a run that is over")
    : new StaleAppend({ run_id: run, length: row.length })
}

/** The reason of each refusal, derived from the current heads of the runs. */
const refusals = (sql: SqlClient.SqlClient, refused: ReadonlyArray<EncodedAppend>) =>
  Effect.map(
    readFences(
      sql,
      `SELECT run_id, epoch, length, status FROM troupe.runs WHERE run_id = ANY($1::text[]::uuid[])`,
      [refused.map((item) => item.append.run)]
    ),
    (rows) => {
      const heads = new Map(rows.map((row) => [row.run_id, row]))
      return new Map(refused.map((item) => [item, refusalOf(item, heads.get(item.append.run))]))
    }
  )

/** The outcome of each append of a batch. `rows` are the places of the refused ones. */
const answers = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  batch: ReadonlyArray<EncodedAppend>,
  rows: ReadonlyArray<unknown>
) {
  const places = new Set((yield* decodePlaces(rows)).map(({ place }) => place))
  const refused = batch.filter((_, index) => places.has(index + 1))
  const why = yield* refusals(sql, refused)
  return batch.map((item) => why.get(item))
})

/**
 * Turns a failure after the append statement into a JournalError with `lost: true`: the other appends of the batch are written
 * and must not be written again.
 */
const writtenBefore = (error: SqlError.SqlError | JournalError): JournalError =>
  new JournalError({ message: orJournalError(error).message, lost: true })

/** Commits a batch with at most one append for each run. Each outcome is undefined, or the reason why that append was refused. */
export const commit =
  (sql: SqlClient.SqlClient) =>
  (
    batch: ReadonlyArray<EncodedAppend>
  ): Effect.Effect<ReadonlyArray<Refusal | undefined>, SqlError.SqlError | JournalError> => {
    const { params, text } = statementOf(batch)
    return Effect.flatMap(sql.unsafe(text, params), (rows) =>
      rows.length === 0
        ? Effect.succeed(batch.map(() => undefined))
        : Effect.mapError(answers(sql, batch, rows), writtenBefore)
    )
  }

/** Writes one append in the open transaction. After a refusal or a failure the transaction can still be used. */
export const appendWithin = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  listeners: CommitListeners,
  append: Append
) {
  const item = yield* encoded(append, append.at ?? (yield* Clock.currentTimeMillis))
  const [refused] = yield* Effect.mapError(inTransaction(sql)(commit(sql)([item])), orJournalError)
  if (refused !== undefined) return yield* refused
  yield* sql.afterCommit(Effect.sync(() => listeners.publishAppend(item)))
})
