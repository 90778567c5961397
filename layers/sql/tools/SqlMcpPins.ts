/**
 * Accepted definitions of MCP servers' tools in SQL. A pin and the record of its acceptance are one transaction.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { NewMcpPin } from "../../../services/McpPins.ts"
import { McpPins } from "../../../services/McpPins.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { McpPin, McpPinChange, McpPinConflict } from "../../../src/tool/McpPin.ts"
import { inTransaction, orStoreError, toStoreError } from "../engine/SqlFailure.ts"
import { textOf } from "../engine/StoredText.ts"

const page_max = 500
const pins_max = 10_000

interface Row {
  readonly tool: string
  readonly accepted_by: string
  readonly accepted_at: bigint
}

const decodePins = Schema.decodeUnknownEffect(Schema.Array(McpPin))
const decodeChanges = Schema.decodeUnknownEffect(Schema.Array(McpPinChange))

/** Texts from outside are stored as JSON text. */
const read = <A extends Row>(row: A) => ({
  ...row,
  tool: textOf(row.tool),
  accepted_by: textOf(row.accepted_by),
  accepted_at: Number(row.accepted_at)
})

const unreadable = () => new StoreError({ message: "a record of an MCP tool cannot be read" })

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
        .unsafe<Row & { readonly definition: string }>(
          `SELECT server, tool, hash, definition, accepted_by, accepted_at, how
           FROM troupe.mcp_pins WHERE server = $1::text LIMIT ${pins_max}`,
          [server]
        )
        .pipe(
          Effect.mapError(toStoreError),
          Effect.flatMap((rows) =>
            decodePins(
              rows.map((row) => ({ ...read(row), definition: JSON.parse(row.definition) }))
            ).pipe(Effect.mapError(unreadable))
          ),
          // Not by the database, whose collation is not ours.
          Effect.map((pins) => [...pins].sort((a, b) => (a.tool < b.tool ? -1 : 1)))
        ),
    accept: Effect.fn("McpPins.accept")(
      (pins) => inTransaction(sql)(Effect.forEach(pins, set, { discard: true })),
      Effect.mapError(orStoreError)
    ),
    history: (server, limit) =>
      sql
        .unsafe<Row>(
          `SELECT server, tool, old_hash, new_hash, accepted_by, accepted_at, how
           FROM troupe.mcp_pin_changes WHERE server = $1::text ORDER BY place DESC LIMIT $2::int4`,
          [server, Math.min(limit, page_max)]
        )
        .pipe(
          Effect.mapError(toStoreError),
          Effect.flatMap((rows) => decodeChanges(rows.map(read)).pipe(Effect.mapError(unreadable)))
        )
  })
})

export const layer: Layer.Layer<McpPins, never, SqlClient.SqlClient> = Layer.effect(McpPins, make)
