/**
 * A memory Layer for each actor, from a LayerMap: built when its actor starts, released when it leaves.
 */
import { Effect, Layer, LayerMap } from "effect"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentMemories } from "../../services/AgentMemory.ts"
import type { Address, Tenant } from "../../src/Ids.ts"
import { actorKey, parseActorKey } from "../../src/Ids.ts"

/** `memory` must make a new Layer for each key: layers are memoised across keys, and a shared one would leak. */
export const layer = <R>(
  memory: (tenant: Tenant, address: Address) => Layer.Layer<AgentMemory, never, R>
): Layer.Layer<AgentMemories, never, R> =>
  Layer.effect(
    AgentMemories,
    Effect.map(
      LayerMap.make((key: string) => {
        const { address, tenant } = parseActorKey(key)
        return memory(tenant, address)
      }),
      (map) =>
        AgentMemories.of({
          get: (tenant, address) => map.contextEffect(actorKey(tenant, address))
        })
    )
  )
