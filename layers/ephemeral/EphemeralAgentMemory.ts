/**
 * What an actor remembers, in the store under its tenant and address: it outlives the actor's fiber, but not the process.
 */
import { Clock, Effect, Layer } from "effect"
import type { Memory } from "../../services/AgentMemory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import type { Address, Tenant } from "../../src/Ids.ts"
import { actorKey } from "../../src/Ids.ts"
import { EphemeralStore } from "./EphemeralStore.ts"

const memories_max = 1_000

const make = (tenant: Tenant, address: Address) =>
  Effect.map(EphemeralStore, ({ memories }) => {
    const key = actorKey(tenant, address)
    return AgentMemory.of({
      remember: (text) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          const kept: Array<Memory> = memories.get(key) ?? []
          if (kept.length === 0) memories.set(key, kept)
          kept.push({ text, at })
          if (kept.length > memories_max) kept.shift()
        }),
      recall: (limit) =>
        Effect.sync(() => (limit <= 0 ? [] : (memories.get(key) ?? []).slice(-limit).reverse()))
    })
  })

/** A new layer for each actor: a shared one would be built once and give every actor the same memory. */
export const layer = (
  tenant: Tenant,
  address: Address
): Layer.Layer<AgentMemory, never, EphemeralStore> =>
  Layer.effect(AgentMemory, make(tenant, address))
