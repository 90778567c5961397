/**
 * The methods of a service for memories: what an agent remembers, and how people correct it.
 */
import { Context, Effect, Schema } from "effect"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import { AgentMemories, AgentMemory } from "../../../services/AgentMemory.ts"
import { MemoryStore, page_max } from "../../../services/MemoryStore.ts"
import { AgentNotFound } from "../../../src/agent/AgentSpec.ts"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import { inputReader } from "../../../src/schema/InvalidInput.ts"
import type { Address, Tenant } from "../../../src/value/Ids.ts"
import { AgentName, ConversationId, RunId } from "../../../src/value/Ids.ts"
import { CanonicalText } from "../../../src/memory/CanonicalText.ts"
import { MemoryId, MemoryName, MemoryTier } from "../../../src/memory/MemoryRow.ts"
import type { Principal } from "../../../src/principal/Principal.ts"

const Owner = { agent: AgentName, conversation: ConversationId }

const readOwner = inputReader(Schema.Struct(Owner))
const readQuery = inputReader(
  Schema.Struct({
    ...Owner,
    tier: Schema.optionalKey(MemoryTier),
    run: Schema.optionalKey(RunId),
    limit: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: page_max }))
    ),
    after: Schema.optionalKey(MemoryId),
    all: Schema.optionalKey(Schema.Boolean)
  })
)
const readId = inputReader(MemoryId)
const readName = inputReader(MemoryName)
const { name, place, text, threshold } = CanonicalText.fields
const readText = inputReader(
  Schema.Struct({ name, text, threshold, place: Schema.optionalKey(place) })
)

const memoryOf = Effect.fnUntraced(function* (tenant: Tenant, { agent, key }: Address) {
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

export const list = Effect.fnUntraced(function* (query: unknown, by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "inspect")
  const {
    agent,
    conversation,
    run,
    tier = "persistent",
    ...page
  } = yield* readQuery(query, "query")
  const memory = yield* memoryOf(tenant, { agent, key: conversation })
  return yield* memory.list(tier, { limit: 50, ...page }, run)
}, Effect.scoped)

export const undo = Effect.fnUntraced(function* (owner: unknown, row: unknown, by: Principal) {
  const { id: person, tenant } = yield* Entries.entitled(by, "curate")
  const { agent, conversation } = yield* readOwner(owner, "of")
  const id = yield* readId(row, "id")
  const memory = yield* memoryOf(tenant, { agent, key: conversation })
  return yield* memory.undo(id, person)
}, Effect.scoped)

export const erase = Effect.fnUntraced(function* (subject: unknown, by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "curate")
  const named = yield* readName(subject, "subject")
  return yield* MemoryStore.use((store) => store.erase(tenant, named))
})

export const register = Effect.fnUntraced(function* (canonical: unknown, by: Principal) {
  const { tenant } = yield* Entries.entitled(by, "curate")
  const { place = `workspace/${tenant}`, ...text } = yield* readText(canonical, "text")
  yield* MemoryStore.use((store) => store.register({ ...text, tenant, place }))
})
