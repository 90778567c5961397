/** What an agent remembers, and how people correct it. */
import { Context, Effect } from "effect"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import { AgentMemories, AgentMemory } from "../../services/AgentMemory.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { AgentNotFound } from "../../src/agent/AgentSpec.ts"
import * as MemoryOperations from "../../src/operation/MemoryOperations.ts"
import { limit_default } from "../../src/operation/Page.ts"
import type { AgentName, ConversationId, Tenant } from "../../src/value/Ids.ts"
import { pageOf, serve } from "./Served.ts"

const memoryOf = Effect.fnUntraced(function* (
  tenant: Tenant,
  agent: AgentName,
  key: ConversationId
) {
  const directory = yield* AgentDirectory
  const found = directory.get(agent)
  if (found === undefined) {
    const available = directory.all.map(({ spec }) => spec.name)
    return yield* new AgentNotFound({ agent, available })
  }
  const memories = yield* AgentMemories
  const held = yield* memories.get(tenant, { agent, key }, found.spec.memory?.anchor)
  return Context.get(held, AgentMemory)
})

export const list = serve(
  MemoryOperations.list,
  Effect.fnUntraced(function* (
    { after, agent, all = false, conversation, limit = limit_default, run, tier = "persistent" },
    { tenant }
  ) {
    const memory = yield* memoryOf(tenant, agent, conversation)
    const items = yield* memory.list(tier, { limit, after, all }, run)
    return pageOf({ items, last: items.length < limit ? undefined : items.at(-1) }, "id")
  }, Effect.scoped)
)

export const undo = serve(
  MemoryOperations.undo,
  Effect.fnUntraced(function* ({ agent, conversation, id }, by) {
    const memory = yield* memoryOf(by.tenant, agent, conversation)
    return yield* memory.undo(id, by.id)
  }, Effect.scoped)
)

export const erase = serve(MemoryOperations.erase, ({ subject }, { tenant }) =>
  MemoryStore.use((store) => store.erase(tenant, subject))
)

export const register = serve(MemoryOperations.register, ({ place, ...text }, { tenant }) =>
  MemoryStore.use((store) =>
    store.register({ ...text, tenant, place: place ?? `workspace/${tenant}` })
  )
)
