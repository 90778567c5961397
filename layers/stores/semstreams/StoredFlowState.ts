/**
 * The states of flows.
 */
import { Effect, Layer } from "effect"
import { Rows } from "../../../services/Rows.ts"
import { FlowState } from "../../../services/semstreams/FlowState.ts"
import { Tenant } from "../../../src/value/Ids.ts"
import { said, table, tableRows, text } from "../TypedRows.ts"

export const flowStates = table({
  name: "flow_states",
  what: "states of flows",
  key: ["tenant", "flow"],
  columns: { tenant: text(Tenant), flow: said, state: said },
  erased: { marked: { state: "text" } }
})

const make = Effect.map(Rows, (driver) => {
  const rows = tableRows(driver, flowStates)
  return FlowState.of({
    get: (tenant, flow) => Effect.map(rows.one({ tenant, flow }), (row) => row?.state),
    set: (tenant, flow, state) =>
      flow.length > 500 || state.length > 200
        ? Effect.die(new RangeError("a flow or its state is too long"))
        : Effect.asVoid(rows.add([{ tenant, flow, state }], ["state"]))
  })
})

export const layer: Layer.Layer<FlowState, never, Rows> = Layer.effect(FlowState, make)
