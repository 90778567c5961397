/** Rows as a store gives them. */
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { MemoryId } from "../../src/memory/MemoryRow.ts"
import type { MemoryRow } from "../../src/memory/MemoryRow.ts"

let count = 0

export const idOf = (number: number): MemoryId =>
  MemoryId.make(`00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`)

export const row = (given: Partial<MemoryRow>): MemoryRow => ({
  id: idOf(++count),
  tenant: Tenant.make("acme"),
  agent: AgentName.make("shop"),
  tier: "interaction",
  anchor: "run",
  place: "workspace/acme",
  session: "c1",
  typology: "episodic",
  text: "a row",
  provenance: { source: "tool_call", author: "model" },
  seen: 1,
  at: 1_700_000_000_000,
  ...given
})
