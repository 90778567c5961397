/**
 * The states of flows in one process.
 */
import { Effect, Layer } from "effect"
import { FlowState } from "../../services/FlowState.ts"
import { tenantKey } from "./EphemeralStore.ts"

const make = Effect.sync(() => {
  const states = new Map<string, string>()
  return FlowState.of({
    get: (tenant, flow) => Effect.sync(() => states.get(tenantKey(tenant, flow))),
    set: (tenant, flow, state) =>
      flow.length > 500 || state.length > 200
        ? Effect.die(new RangeError("a flow or its state is too long"))
        : Effect.sync(() => void states.set(tenantKey(tenant, flow), state))
  })
})

export const layer: Layer.Layer<FlowState> = Layer.effect(FlowState, make)
