/**
 * Tenants whose tools are stopped, in SQL.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ToolStops } from "../../../services/ToolStops.ts"
import { Tenant } from "../../../src/value/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError } from "../engine/SqlFailure.ts"

const decodeStops = rowDecoder(Schema.Struct({ tenant: Tenant }), "tenants whose tools are stopped")

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return ToolStops.of({
    tenants: sql.unsafe(`SELECT tenant FROM troupe.tool_stops`).pipe(
      Effect.flatMap(decodeStops),
      Effect.map((rows) => rows.map(({ tenant }) => tenant)),
      Effect.mapError(orStoreError)
    ),
    set: (tenant, stopped, at) =>
      Effect.asVoid(
        Effect.mapError(
          stopped
            ? sql.unsafe(
                `INSERT INTO troupe.tool_stops (tenant, at) VALUES ($1::text, $2::int8) ON CONFLICT DO NOTHING`,
                [tenant, at]
              )
            : sql.unsafe(`DELETE FROM troupe.tool_stops WHERE tenant = $1::text`, [tenant]),
          orStoreError
        )
      )
  })
})

export const layer: Layer.Layer<ToolStops, never, SqlClient.SqlClient> = Layer.effect(
  ToolStops,
  make
)
