/**
 * What waits for a process that hosts its agent, while none does.
 */
import { Schema } from "effect"
import { AgentName, Tenant } from "../Ids.ts"

export const UnhostedWork = Schema.Struct({
  tenant: Tenant,
  agent: AgentName,
  /** Messages and runs that are not over. */
  count: Schema.Int,
  /** When the oldest was accepted; ms since 1970. */
  oldest_at: Schema.Int
}).annotate({ identifier: "UnhostedWork" })
export interface UnhostedWork extends Schema.Schema.Type<typeof UnhostedWork> {}
