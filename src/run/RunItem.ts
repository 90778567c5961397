/**
 * A run as lists show it, made of its task, its head and its handoffs without reading other events, and an event as people are
 * shown it.
 */
import { Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import type { AgentTask } from "../delivery/AgentTask.ts"
import { TaskStatus } from "../delivery/AgentTask.ts"
import { AgentName, ConversationId, RunId, Tenant } from "../value/Ids.ts"
import { agentOfRun, RunStatus } from "./RunState.ts"
import { redact } from "../error/Redaction.ts"
import { isSecretName } from "../error/SecretNames.ts"
import type { RunContext } from "./RunContext.ts"
import type { RunEvent } from "./RunEvent.ts"
import { UnknownCall } from "./UnknownCall.ts"
import { defined } from "../value/PlainObject.ts"

/** What a run waits for: a decision, or an operator who settles an unknown call. */
export const WaitingFor = Schema.Literals(["approval", "unknown"])
export type WaitingFor = typeof WaitingFor.Type

export const RunItem = Schema.Struct({
  id: RunId,
  conversation: ConversationId,
  /** The agent that its message went to. */
  agent: AgentName,
  /** The agent that it has handed the conversation over to; absent = none, or back. */
  handed_to: Schema.optionalKey(AgentName),
  ordinal: Schema.Int,
  status: RunStatus,
  task_status: TaskStatus,
  /** The first 200 characters of the message. */
  message: Schema.String,
  by: Schema.String,
  /** Who sent it for `by`. Absent = `by` did. */
  via: Schema.optionalKey(Schema.String),
  trace_id: Schema.String,
  /** ms since 1970. */
  created_at: Schema.Int,
  reason: Schema.optionalKey(Schema.String),
  /** Calls that wait for an operator, who settles each; of one page at most 500. */
  unknown_calls: Schema.Array(UnknownCall),
  /** Its journal does not fold: the status is that of before, and nothing goes on until it is released. */
  quarantined: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "RunItem" })
export interface RunItem extends Schema.Schema.Type<typeof RunItem> {}

/** How much of a message a list shows, in UTF-16 units. */
export const message_shown = 200

/** What is known of a run beside its task and its head. */
interface Known {
  /** By its last handoff. */
  readonly handed_to?: AgentName | undefined
  readonly quarantined?: boolean
}

export const runItem = (
  task: AgentTask,
  status: RunItem["status"],
  unknown_calls: RunItem["unknown_calls"],
  { handed_to, quarantined = false }: Known = {}
): RunItem => ({
  id: task.id,
  conversation: task.conversation,
  agent: agentOfRun(task),
  ...(handed_to === agentOfRun(task) ? undefined : defined({ handed_to })),
  ordinal: task.ordinal,
  status,
  task_status: task.status,
  message: truncateUnits(task.message, message_shown).toWellFormed(),
  by: task.by,
  ...defined({ via: task.via }),
  trace_id: task.trace_id,
  created_at: task.created_at,
  ...(task.reason === undefined || task.reason === "" ? undefined : { reason: task.reason }),
  unknown_calls,
  ...(quarantined ? { quarantined } : undefined)
})

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

const shown = (value: Schema.Json, name?: string): Schema.Json => {
  if (name !== undefined && isSecretName(name, value)) return "[redacted]"
  if (typeof value === "string") return redact(value)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map((item) => shown(item, name))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, shown(member, name)])
  )
}

/** The event as people are shown it: the context of a run without secrets and personal data. */
export const shownEvent = (event: RunEvent): RunEvent =>
  event._tag === "RunAccepted" && event.context !== undefined
    ? { ...event, context: shown(event.context) as RunContext }
    : event
