/**
 * Accepted definitions of MCP servers' tools in SQL. A pin and the record of its acceptance are written in one transaction.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { NewMcpPin } from "../../../services/McpPins.ts"
import { McpPins } from "../../../services/McpPins.ts"
import { McpPin, McpPinChange, McpPinConflict } from "../../../src/mcp/McpPin.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction, orStoreError } from "../engine/SqlFailure.ts"

const page_max = 500
const pins_max = 10_000

/** Names, people and definitions are stored as JSON text. */
const decodePins = rowDecoder(
  McpPin.mapFields((fields) => ({
    ...fields,
    tool: Schema.fromJsonString(fields.tool),
    accepted_by: Schema.fromJsonString(fields.accepted_by),
    definition: Schema.fromJsonString(fields.definition)
  })),
  "accepted tools of an MCP server"
)
const decodeChanges = rowDecoder(
  McpPinChange.mapFields((fields) => ({
    ...fields,
    tool: Schema.fromJsonString(fields.tool),
    accepted_by: Schema.fromJsonString(fields.accepted_by)
  })),
  "acceptances of an MCP server"
)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const set = Effect.fnUntraced(function* ({ pin, replaces }: NewMcpPin) {
    const { server } = pin
    const [tool, by] = [JSON.stringify(pin.tool), JSON.stringify(pin.accepted_by)]
    const who = [pin.hash, JSON.stringify(pin.definition), by, pin.accepted_at, pin.how]
    const written =
      replaces === null
        ? yield* sql.unsafe(
            `INSERT INTO troupe.mcp_pins (server, tool, hash, definition, accepted_by, accepted_at, how)
             VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::int8, $7::text)
             ON CONFLICT DO NOTHING RETURNING 1`,
            [server, tool, ...who]
          )
        : yield* sql.unsafe(
            `UPDATE troupe.mcp_pins SET hash = $3::text, definition = $4::text, accepted_by = $5::text,
               accepted_at = $6::int8, how = $7::text
             WHERE server = $1::text AND tool = $2::text AND hash = $8::text RETURNING 1`,
            [server, tool, ...who, replaces]
          )
    if (written.length === 0) return yield* new McpPinConflict({ server, tool: pin.tool })
    yield* sql.unsafe(
      `INSERT INTO troupe.mcp_pin_changes (server, tool, old_hash, new_hash, accepted_by, accepted_at, how)
       VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::int8, $7::text)`,
      [server, tool, replaces, pin.hash, by, pin.accepted_at, pin.how]
    )
  })

  return McpPins.of({
    of: (server) =>
      sql
        .unsafe(
          `SELECT server, tool, hash, definition, accepted_by, accepted_at::float8 AS accepted_at, how
           FROM troupe.mcp_pins WHERE server = $1::text LIMIT ${pins_max}`,
          [server]
        )
        .pipe(
          Effect.flatMap(decodePins),
          Effect.mapError(orStoreError),
          // They are sorted in JavaScript, because the database's collation is another one.
          Effect.map((pins) => [...pins].sort((a, b) => (a.tool < b.tool ? -1 : 1)))
        ),
    accept: Effect.fn("McpPins.accept")(
      (pins) => inTransaction(sql)(Effect.forEach(pins, set, { discard: true })),
      Effect.mapError(orStoreError)
    ),
    history: (server, limit) =>
      sql
        .unsafe(
          `SELECT server, tool, old_hash, new_hash, accepted_by, accepted_at::float8 AS accepted_at, how
           FROM troupe.mcp_pin_changes WHERE server = $1::text ORDER BY place DESC LIMIT $2::int4`,
          [server, Math.min(limit, page_max)]
        )
        .pipe(Effect.flatMap(decodeChanges), Effect.mapError(orStoreError))
  })
})

export const layer: Layer.Layer<McpPins, never, SqlClient.SqlClient> = Layer.effect(McpPins, make)
