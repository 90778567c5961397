/**
 * Writes which calls wait for an operator, beside the events that say so. Private to this room.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Encoded } from "./AppendStatement.ts"

/** Does it say that a call is unknown, or what became of one that may have been? Few appends do. */
export const isTouched = ({ known, unknown }: Encoded): boolean =>
  unknown.length > 0 || known.length > 0

/** Of appends that stand; in their transaction. Of one that says both, of different calls, each is written. */
export const write = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  items: ReadonlyArray<Encoded>
): Effect.fn.Return<void, SqlError.SqlError> {
  const known = items.flatMap((item) => item.known.map((call) => [item.append.run, call] as const))
  if (known.length > 0) {
    yield* sql.unsafe(
      `DELETE FROM troupe.unknown_calls u USING unnest($1::text[], $2::text[]) AS k (run_id, call)
       WHERE u.run_id = k.run_id::uuid AND u.call = k.call`,
      [known.map(([run]) => run), known.map(([, call]) => JSON.stringify(call))]
    )
  }
  const unknown = items.flatMap((item) => item.unknown.map((each) => ({ ...each, item })))
  if (unknown.length > 0) {
    yield* sql.unsafe(
      `INSERT INTO troupe.unknown_calls (run_id, call, tool, tenant, since)
       SELECT r.run_id, n.call, n.tool, r.tenant, n.since::int8
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS n (run_id, call, tool, since)
         JOIN troupe.runs r ON r.run_id = n.run_id::uuid
       ON CONFLICT DO NOTHING`,
      [
        unknown.map(({ item }) => item.append.run),
        unknown.map(({ call }) => JSON.stringify(call)),
        unknown.map(({ tool }) => JSON.stringify(tool)),
        unknown.map(({ item }) => String(item.at))
      ]
    )
  }
})
