/**
 * Finds runs with an event that names a subject. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { namesIn } from "../../../src/erasure/ErasedValue.ts"
import { candidateTexts } from "../../../src/erasure/SubjectEraser.ts"
import { ConversationId, RunId } from "../../../src/value/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import type { Sought } from "./OwnedRuns.ts"
import { forEachPiece, inPiece, placeBehind } from "./TablePieces.ts"

const decodeRows = rowDecoder(
  Schema.Struct({
    place: Schema.String,
    run: RunId,
    conversation: ConversationId,
    payload: Schema.String,
    next: Schema.NullOr(Schema.String)
  }),
  "events that name a subject"
)

const page_max = 50

const statement = `SELECT t.ctid::text AS place, t.run_id AS run, d.conversation, t.payload, t.next FROM troupe.run_pairs t
    JOIN troupe.run_details d ON d.run_id = t.run_id
  WHERE ${inPiece(3, 4)} AND d.tenant = $1::text AND EXISTS (
    SELECT FROM unnest($2::text[]) w WHERE strpos(replace(lower(concat_ws(E'\\n', t.payload, t.next)), E'\\\\', ''), lower(w)) > 0)
  ORDER BY t.ctid LIMIT ${page_max}`

/** The runs of the tenant with an event that names the subject, grouped by conversation. */
export const findNamed = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { eraser, subject, tenant }: Sought
) {
  const found = new Map<ConversationId, Set<RunId>>()
  yield* forEachPiece(
    sql,
    "run_pairs",
    Effect.fnUntraced(function* ({ from, to }) {
      for (let place = from; ;) {
        const params = [tenant, candidateTexts(subject), place, to]
        const rows = yield* Effect.flatMap(sql.unsafe(statement, params), decodeRows)
        for (const { conversation, next, payload, run } of rows) {
          if (!namesIn(payload, eraser) && (next === null || !namesIn(next, eraser))) continue
          const runs = found.get(conversation) ?? new Set()
          found.set(conversation, runs.add(run))
        }
        const last = rows.at(-1)
        if (last === undefined || rows.length < page_max) return undefined
        place = placeBehind(last.place)
      }
    })
  )
  return found
})
