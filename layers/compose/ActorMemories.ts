/**
 * A memory Layer for each actor, from a LayerMap: built when its actor starts, released when it leaves.
 */
import { Effect, Layer, LayerMap } from "effect"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentMemories } from "../../services/AgentMemory.ts"
import type { Address } from "../../src/Ids.ts"
import { addressKey, addressOf } from "../../src/Ids.ts"

/** `memory` must make a new Layer for each key: layers are memoised across keys, and a shared one would leak. */
export const layer = <R>(
  memory: (address: Address) => Layer.Layer<AgentMemory, never, R>
): Layer.Layer<AgentMemories, never, R> =>
  Layer.effect(
    AgentMemories,
    Effect.map(
      LayerMap.make((key: string) => memory(addressOf(key))),
      (map) => AgentMemories.of({ get: (address) => map.contextEffect(addressKey(address)) })
    )
  )
