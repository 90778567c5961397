/**
 * Messages and runs that wait because no process hosts what they need.
 */
import { Schema } from "effect"
import { AgentName, Tenant } from "../value/Ids.ts"

export const UnhostedWork = Schema.Struct({
  tenant: Tenant,
  agent: AgentName,
  /** Only exactly this version of the agent will do: its definition's digest, a dot, its tools'. Absent = any will. */
  version: Schema.optionalKey(Schema.String),
  /** Only the agent with exactly this tool will do, by its registry key: one of its calls was lost on its way. */
  tool: Schema.optionalKey(Schema.String),
  /** Messages and runs that are not over. */
  count: Schema.Int,
  /** When the oldest was accepted; ms since 1970. */
  oldest_at: Schema.Int
}).annotate({ identifier: "UnhostedWork" })
export interface UnhostedWork extends Schema.Schema.Type<typeof UnhostedWork> {}
