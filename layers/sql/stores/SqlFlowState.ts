/**
 * The states of flows in SQL.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { FlowState } from "../../../services/FlowState.ts"
import { toStoreError } from "../engine/SqlFailure.ts"
import { textOf } from "../engine/StoredText.ts"

const make = Effect.map(SqlClient.SqlClient, (sql) =>
  FlowState.of({
    get: (tenant, flow) =>
      Effect.mapBoth(
        sql.unsafe<{ readonly state: string }>(
          `SELECT state FROM troupe.flow_states WHERE tenant = $1::text AND flow = $2::text`,
          [tenant, JSON.stringify(flow)]
        ),
        { onSuccess: ([row]) => row && textOf(row.state), onFailure: toStoreError }
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
)

export const layer: Layer.Layer<FlowState, never, SqlClient.SqlClient> = Layer.effect(
  FlowState,
  make
)
