/**
 * Overwrites the events of a run that is over, in the transaction that erases its conversation. Private to this room.
 */
import { Effect, Result, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { canonical } from "../../../src/value/Canonical.ts"
import type { RunEraser } from "../../../src/erasure/ErasedValue.ts"
import { codesIn, erasedEvent, markOf, namesIn } from "../../../src/erasure/ErasedValue.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { isObject } from "../../../src/value/PlainObject.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { eventIn } from "../journal/RunRows.ts"

/** Rows of one page: few, because each may hold a result of several megabytes. */
const page_max = 25

/** A stored row: the event at `seq` and, unless `next` is null, the one after it. */
const EventsRow = Schema.Struct({
  seq: Schema.Int,
  payload: Schema.String,
  next: Schema.NullOr(Schema.String)
})
const decodeRows = rowDecoder(EventsRow, "events of a run")

const parsed = (text: string): unknown =>
  Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))

/**
 * The payload of an event after the erasure. A payload that is not a JSON object belongs to a run in quarantine, and its parts
 * cannot be told apart: it is marked as a whole, if it has to be erased.
 */
const erasedPayload = (text: string, codes: ReadonlySet<string>, eraser: RunEraser): string => {
  const event = parsed(text)
  if (isObject(event)) return canonical(erasedEvent(event, codes, eraser))
  return eraser.whole || namesIn(text, eraser) ? canonical(markOf(eraser, text)) : text
}

const read = (sql: SqlClient.SqlClient, run: RunId, from: number) =>
  Effect.flatMap(
    sql.unsafe(
      `SELECT seq, payload, next FROM troupe.run_pairs WHERE run_id = $1::uuid AND seq >= $2::int4
       ORDER BY seq LIMIT ${page_max}`,
      [run, from]
    ),
    decodeRows
  )

const codesOf = (sql: SqlClient.SqlClient, run: RunId) =>
  Effect.map(
    Effect.flatMap(
      sql.unsafe(
        `SELECT seq, payload, next FROM troupe.run_pairs WHERE run_id = $1::uuid AND type = 'RunStopping' ORDER BY seq`,
        [run]
      ),
      decodeRows
    ),
    (rows) => codesIn(rows.map(({ payload }) => parsed(payload)))
  )

/**
 * As `erasedPayload`. An event that could be decoded before must also be decodable after it; otherwise this dies, and nothing is
 * written.
 */
const erasedEventOf = (
  text: string,
  codes: ReadonlySet<string>,
  eraser: RunEraser
): Effect.Effect<string> => {
  const erased = erasedPayload(text, codes, eraser)
  return erased !== text && eventIn(text) !== undefined && eventIn(erased) === undefined
    ? Effect.die(new Error("an event of a run cannot be erased"))
    : Effect.succeed(erased)
}

/** Erases a run's events. Gives the number of overwritten events and the run's codes. */
export const eraseRun = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: RunId,
  eraser: RunEraser
) {
  const codes = yield* codesOf(sql, run)
  let written = 0
  for (let from = 0; ;) {
    const rows = yield* read(sql, run, from)
    const changed: Array<typeof EventsRow.Type> = []
    for (const { next, payload, seq } of rows) {
      const first = yield* erasedEventOf(payload, codes, eraser)
      const second = next === null ? null : yield* erasedEventOf(next, codes, eraser)
      if (first === payload && second === next) continue
      written += Number(first !== payload) + Number(second !== next)
      changed.push({ seq, payload: first, next: second })
    }
    yield* sql.unsafe(
      `UPDATE troupe.run_pairs e SET payload = w.payload, next = nullif(w.next, '')
       FROM unnest($2::int4[], $3::text[], $4::text[]) AS w(seq, payload, next)
       WHERE e.run_id = $1::uuid AND e.seq = w.seq AND e.seq = ANY ($2::int4[])`,
      [
        run,
        changed.map(({ seq }) => seq),
        changed.map(({ payload }) => payload),
        changed.map(({ next }) => next ?? "")
      ]
    )
    const last = rows.at(-1)
    if (last === undefined || rows.length < page_max) return { codes, written }
    from = last.seq + 1
  }
})
