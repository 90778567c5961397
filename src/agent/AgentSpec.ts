/**
 * What an agent is: name, instructions, tools, specialists, limits and how it is supervised.
 */
import { Effect, Schema } from "effect"
import { Capability } from "../capability/Capability.ts"
import { AgentName } from "../Ids.ts"
import { RunLimits } from "../run/RunLimits.ts"
import { GroupsByRole, ToolGroup } from "../tool/ToolGroup.ts"
import { ModelSettings } from "./ModelSettings.ts"

const defaulted = <S extends Schema.Top & Schema.WithoutConstructorDefault>(
  schema: S,
  value: S["Type"] & S["Encoded"]
) =>
  schema.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(value)),
    Schema.withConstructorDefault(Effect.succeed(value))
  )

/** How often an actor may crash within a window before it is stopped, and how long it waits in between. */
export const Supervision = Schema.Struct({
  restarts_max: defaulted(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 })), 3),
  window_ms: defaulted(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 86_400_000 })),
    60_000
  ),
  backoff_initial_ms: defaulted(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60_000 })),
    100
  ),
  backoff_max_ms: defaulted(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 600_000 })),
    5_000
  )
})
export interface Supervision extends Schema.Schema.Type<typeof Supervision> {}

/** Of an agent that says nothing, and of an address whose agent this process does not know. */
export const defaultSupervision: Supervision = Supervision.make({})

/** What a second message does to a busy actor. */
export const MailboxPolicy = Schema.Literals(["enqueue", "reject", "interrupt"])
export type MailboxPolicy = typeof MailboxPolicy.Type

/**
 * What a resume does when the definition or its tools are others than the run was accepted with. `continue`: the run goes
 * on with these; `fail`: it fails; `wait`: it waits for a process that has those.
 */
export const OnChange = Schema.Literals(["continue", "fail", "wait"])
export type OnChange = typeof OnChange.Type

/**
 * What becomes of the oldest part of a prompt that is too long. `truncate`: results go first, as a note of their size,
 * then whole runs and steps. `summarise`: the agent's model sums up what goes; where it does not, it is truncated.
 */
export const CompactionPolicy = Schema.Literals(["truncate", "summarise"])
export type CompactionPolicy = typeof CompactionPolicy.Type

export const AgentSpec = Schema.Struct({
  name: AgentName,
  description: defaulted(Schema.String, ""),
  instructions: Schema.String,
  /** The model's name for the gateway; absent = the gateway's default. */
  model: Schema.optionalKey(Schema.String),
  model_settings: Schema.optionalKey(ModelSettings),
  /** Registry keys (`namespace.name@version`) or plain names where those are unique. */
  tools: defaulted(Schema.Array(Schema.String), []),
  /**
   * What its tools may touch, `name` or `name:scope` with a glob as scope, `fs.read:/workspace/*`. Absent = a tool that
   * asks for a capability is refused. Fixed for as long as the agent is.
   */
  capabilities: Schema.optionalKey(Schema.Array(Capability).check(Schema.isMaxLength(256))),
  /** Only tools of these groups, of those above; the others are not shown and are refused. Absent = all. */
  groups: Schema.optionalKey(Schema.Array(ToolGroup)),
  /**
   * Of the groups above, those for whoever sent the message, by its roles: all that stand under any of them. Under none
   * of them stands nothing, so a sender whose roles are not named here has no tools. An admin has every role but that of
   * a customer. A specialist has its own, for the same sender. Absent = all, for everyone.
   */
  groups_by_role: Schema.optionalKey(GroupsByRole),
  /**
   * JSON Schema of what another agent delegates to it with; its message is then that, as JSON. Absent = `{ task }`, a text
   * that is its message.
   */
  takes: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  /** Agents that this one may delegate to; each is a frame of the same run. */
  specialists: defaulted(Schema.Array(AgentName), []),
  limits: defaulted(Schema.toType(RunLimits), RunLimits.make({})),
  mailbox: defaulted(MailboxPolicy, "enqueue" as const),
  /** How many messages may wait for one address. */
  mailbox_max: defaulted(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })),
    1_000
  ),
  on_change: defaulted(OnChange, "continue" as const),
  supervision: defaulted(Schema.toType(Supervision), defaultSupervision),
  /** The part of a conversation's past that a run is shown, in tokens; 0 = none. */
  history_tokens_max: defaulted(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 })),
    16_000
  ),
  /**
   * The whole prompt of a turn (instructions, tools, past and the run so far), in tokens as the `Tokenizer` counts; the
   * model's window less what an answer takes. Beyond it, and beyond `history_tokens_max`, the prompt is compacted.
   */
  context_tokens_max: defaulted(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10_000_000 })),
    100_000
  ),
  compaction: defaulted(CompactionPolicy, "truncate" as const)
})
export interface AgentSpec extends Schema.Schema.Type<typeof AgentSpec> {}

/** Nobody knows this agent. */
export class AgentNotFound extends Schema.TaggedError<AgentNotFound>()("AgentNotFound", {
  agent: Schema.String,
  available: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `there is no agent ${JSON.stringify(this.agent)}`
  }
}
