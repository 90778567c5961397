/**
 * Writes over the events of a run that is over, in the transaction of its conversation. Private to this room.
 */
import { Effect, Result, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { canonical } from "../../../src/Canonical.ts"
import type { RunEraser } from "../../../src/erasure/ErasedEvent.ts"
import { codesIn, erasedEvent } from "../../../src/erasure/ErasedEvent.ts"
import { markOf, namesIn } from "../../../src/erasure/ErasedValue.ts"
import type { RunId } from "../../../src/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { eventIn } from "../journal/RunRows.ts"

/** Few, because each may hold a result of several megabytes. */
const page_max = 50

const decodeRows = rowDecoder(
  Schema.Struct({ seq: Schema.Int, payload: Schema.String }),
  "events of a run"
)

const parsed = (text: string): unknown =>
  Result.getOrUndefined(Result.try((): unknown => JSON.parse(text)))

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The payload of an event afterwards. One that is no event is of a run in quarantine: nothing of it can be told apart. */
const erasedPayload = (text: string, codes: ReadonlySet<string>, eraser: RunEraser): string => {
  const event = parsed(text)
  if (isObject(event)) return canonical(erasedEvent(event, codes, eraser))
  return eraser.whole || namesIn(text, eraser) ? canonical(markOf(eraser, text)) : text
}

const read = (sql: SqlClient.SqlClient, run: RunId, from: number) =>
  Effect.flatMap(
    sql.unsafe(
      `SELECT seq, payload FROM troupe.run_events WHERE run_id = $1::uuid AND seq >= $2::int4
       ORDER BY seq LIMIT ${page_max}`,
      [run, from]
    ),
    decodeRows
  )

const codesOf = (sql: SqlClient.SqlClient, run: RunId) =>
  Effect.map(
    Effect.flatMap(
      sql.unsafe(
        `SELECT seq, payload FROM troupe.run_events WHERE run_id = $1::uuid AND type = 'RunStopping' ORDER BY seq`,
        [run]
      ),
      decodeRows
    ),
    (rows) => codesIn(rows.map(({ payload }) => parsed(payload)))
  )

/** Gives how many events were written over, and the run's codes. An event that could be read can be read afterwards, or nothing is written. */
export const eraseRun = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  run: RunId,
  eraser: RunEraser
) {
  const codes = yield* codesOf(sql, run)
  let written = 0
  for (let from = 0; ;) {
    const rows = yield* read(sql, run, from)
    const seqs: Array<number> = []
    const payloads: Array<string> = []
    for (const { payload, seq } of rows) {
      const erased = erasedPayload(payload, codes, eraser)
      if (erased === payload) continue
      if (eventIn(payload) !== undefined && eventIn(erased) === undefined) {
        return yield* Effect.die(new Error(`event ${seq} of run ${run} cannot be erased`))
      }
      seqs.push(seq)
      payloads.push(erased)
    }
    yield* sql.unsafe(
      `UPDATE troupe.run_events e SET payload = w.payload FROM unnest($2::int4[], $3::text[]) AS w(seq, payload)
       WHERE e.run_id = $1::uuid AND e.seq = w.seq AND e.seq = ANY ($2::int4[])`,
      [run, seqs, payloads]
    )
    written += seqs.length
    const last = rows.at(-1)
    if (last === undefined || rows.length < page_max) return { codes, written }
    from = last.seq + 1
  }
})
