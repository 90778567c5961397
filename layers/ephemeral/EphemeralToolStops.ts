/**
 * Tenants whose tools are stopped, in one process. They are not stopped any more when it ends.
 */
import { Effect, Layer } from "effect"
import { ToolStops } from "../../services/ToolStops.ts"
import type { Tenant } from "../../src/value/Ids.ts"

const make = Effect.sync(() => {
  const stopped = new Set<Tenant>()
  return ToolStops.of({
    tenants: Effect.sync(() => [...stopped]),
    set: (tenant, isStopped) =>
      Effect.sync(() => {
        if (isStopped) stopped.add(tenant)
        else stopped.delete(tenant)
      })
  })
})

export const layer: Layer.Layer<ToolStops> = Layer.effect(ToolStops, make)
