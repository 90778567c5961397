/**
 * A memory Layer for each address, from a LayerMap: it is built on first use, and released with the last scope that uses it.
 */
import { Effect, Layer, LayerMap } from "effect"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import { AgentMemories } from "../../../services/AgentMemory.ts"
import type { Address, Tenant } from "../../../src/value/Ids.ts"
import { actorKey, parseActorKey } from "../../../src/value/Ids.ts"
import type { AnchorKind } from "../../../src/memory/MemoryAnchors.ts"

/** For example `workspace tenant/agent/key`; no part contains a space. */
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

/** `memory` has to make a new Layer for each key: Layers are memoised across keys, so a shared one would mix the memories. */
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
