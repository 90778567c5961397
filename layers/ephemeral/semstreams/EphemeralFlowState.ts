/**
 * The states of flows in one process.
 */
import { Effect, Layer } from "effect"
import { FlowState } from "../../../services/semstreams/FlowState.ts"
import { offerRows, tenantKey } from "../EphemeralStore.ts"

const make = Effect.gen(function* () {
  const states = new Map<string, string>()
  yield* offerRows("flow_states", (tenant) =>
    [...states].flatMap(([key, value]) =>
      key.startsWith(tenantKey(tenant, ""))
        ? [
            {
              value,
              remove: () => void states.delete(key),
              replace: (state) => void states.set(key, String(state))
            }
          ]
        : []
    )
  )
  return FlowState.of({
    get: (tenant, flow) => Effect.sync(() => states.get(tenantKey(tenant, flow))),
    set: (tenant, flow, state) =>
      flow.length > 500 || state.length > 200
        ? Effect.die(new RangeError("a flow or its state is too long"))
        : Effect.sync(() => void states.set(tenantKey(tenant, flow), state))
  })
})

export const layer: Layer.Layer<FlowState> = Layer.effect(FlowState, make)
