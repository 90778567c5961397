/**
 * Reads tables in pieces of a fixed number of blocks, so that no statement reads for long, however large a table is. A row that
 * is written meanwhile may be placed after the last piece. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { rowDecoder } from "../engine/DecodedRows.ts"

/** Blocks of one piece: 8 MB, without what is stored out of line. */
const piece_blocks = 1_000

const decodeSizes = rowDecoder(Schema.Struct({ blocks: Schema.Int }), "sizes of tables")

const blocksOf = (sql: SqlClient.SqlClient, table: string) =>
  Effect.map(
    Effect.flatMap(
      sql.unsafe(
        `SELECT (pg_relation_size('troupe.' || quote_ident($1::text)) / current_setting('block_size')::int8)::int4 AS blocks`,
        [table]
      ),
      decodeSizes
    ),
    ([size]) => size?.blocks ?? 0
  )

/** The rows of a piece: `from <= ctid < to`, both as texts. */
export interface Piece {
  readonly from: string
  readonly to: string
}

/** The condition that a row of table `t` is in a piece. `from` and `to` are the numbers of the parameters with its places. */
export const inPiece = (from: number, to: number): string =>
  `t.ctid >= $${from}::text::tid AND t.ctid < $${to}::text::tid`

/** The place after a place, which has the form `(block,row)`. */
export const placeBehind = (place: string): string => {
  const [block, row] = place.slice(1, -1).split(",").map(Number)
  return `(${block},${(row ?? 0) + 1})`
}

/** Visits the pieces of a table in order, until a visit gives `"enough"`. */
export const forEachPiece = Effect.fnUntraced(function* <E, R>(
  sql: SqlClient.SqlClient,
  table: string,
  visit: (piece: Piece) => Effect.Effect<"enough" | undefined, E, R>
) {
  const blocks = yield* blocksOf(sql, table)
  for (let block = 0; block <= blocks; block += piece_blocks) {
    const visited = yield* visit({ from: `(${block},0)`, to: `(${block + piece_blocks},0)` })
    if (visited === "enough") return
  }
})
