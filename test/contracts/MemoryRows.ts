/** Rows of memories for a store's contract. */
import { Effect } from "effect"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { MemoryRow, MemoryScope, NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import * as Samples from "./Samples.ts"

export const agent = AgentName.make("shop")
export const start = 1_700_000_000_000

/** A row of a new conversation of a new tenant, unless it is given another. */
export const newRow = (text: string, given: Partial<NewMemoryRow> = {}): NewMemoryRow => ({
  tenant: Samples.tenant(),
  agent,
  tier: "session",
  anchor: "c1",
  place: "workspace/acme",
  session: "c1",
  typology: "episodic",
  text,
  provenance: { source: "tool_call", author: "model" },
  at: start,
  ...given
})

export const scopeOf = ({ agent, anchor, tenant, tier }: MemoryScope): MemoryScope => ({
  tenant,
  agent,
  tier,
  anchor
})

export const textsOf = (rows: ReadonlyArray<MemoryRow>) => rows.map(({ text }) => text)
export const place = ({ agent, id, tenant }: MemoryRow) => ({ tenant, agent, id })

/** Adds rows like the first one, with these texts. */
export const addAll = (first: NewMemoryRow, texts: ReadonlyArray<string>) =>
  Effect.forEach(texts, (text, i) =>
    MemoryStore.use((store) => store.add({ ...first, text, at: start + i }))
  )
