/**
 * The states of flows in SQL.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { FlowState } from "../../../services/semstreams/FlowState.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError, toStoreError } from "../engine/SqlFailure.ts"
import { TenantReads } from "../engine/TenantReads.ts"
import { StoredText } from "../engine/StoredText.ts"

const decodeStates = rowDecoder(Schema.Struct({ state: StoredText }), "states of flows")

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  return FlowState.of({
    get: (tenant, flow) =>
      sql
        .unsafe(
          `SELECT state FROM troupe.flow_states WHERE tenant = $1::text AND flow = $2::text`,
          [tenant, JSON.stringify(flow)]
        )
        .pipe(
          reads.of(tenant),
          Effect.flatMap(decodeStates),
          Effect.mapBoth({ onSuccess: ([row]) => row?.state, onFailure: orStoreError })
        ),
    set: (tenant, flow, state) =>
      flow.length > 500 || state.length > 200
        ? Effect.die(new RangeError("a flow or its state is too long"))
        : Effect.mapBoth(
            sql.unsafe(
              `INSERT INTO troupe.flow_states (tenant, flow, state) VALUES ($1::text, $2::text, $3::text)
               ON CONFLICT (tenant, flow) DO UPDATE SET state = excluded.state`,
              [tenant, JSON.stringify(flow), JSON.stringify(state)]
            ),
            { onSuccess: () => undefined, onFailure: toStoreError }
          )
  })
})

export const layer: Layer.Layer<FlowState, never, SqlClient.SqlClient | TenantReads> = Layer.effect(
  FlowState,
  make
)
