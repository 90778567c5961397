/**
 * A memory Layer for each address, from a LayerMap: built when it is first asked for, released with the last scope that
 * holds it.
 */
import { Effect, Layer, LayerMap } from "effect"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import { AgentMemories } from "../../services/AgentMemory.ts"
import type { Address, Tenant } from "../../src/Ids.ts"
import { actorKey, parseActorKey } from "../../src/Ids.ts"
import type { AnchorKind } from "../../src/memory/MemoryAnchors.ts"

/** `workspace tenant/agent/key`: no part holds a space. */
const keyOf = (tenant: Tenant, address: Address, kind: AnchorKind): string =>
  `${kind} ${actorKey(tenant, address)}`

const kinds: Readonly<Record<string, AnchorKind>> = {
  workspace: "workspace",
  world: "world",
  operator: "operator"
}

const parse = (key: string) => {
  const at = key.indexOf(" ")
  return { ...parseActorKey(key.slice(at + 1)), kind: kinds[key.slice(0, at)] ?? "workspace" }
}

/** `memory` must make a new Layer for each key: layers are memoised across keys, and a shared one would leak. */
export const layer = <R>(
  memory: (tenant: Tenant, address: Address, kind: AnchorKind) => Layer.Layer<AgentMemory, never, R>
): Layer.Layer<AgentMemories, never, R> =>
  Layer.effect(
    AgentMemories,
    Effect.map(
      LayerMap.make((key: string) => {
        const { address, kind, tenant } = parse(key)
        return memory(tenant, address, kind)
      }),
      (map) =>
        AgentMemories.of({
          get: (tenant, address, kind = "workspace") =>
            map.contextEffect(keyOf(tenant, address, kind))
        })
    )
  )
