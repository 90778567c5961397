/**
 * The definition of an agent: its name, instructions, tools, specialists, limits and supervision.
 */
import { Schema } from "effect"
import { Capability } from "../capability/Capability.ts"
import { throwInvalidInputInMake } from "../schema/InvalidInput.ts"
import { Budgets } from "../cost/Budget.ts"
import { AgentName } from "../value/Ids.ts"
import { MemorySpec } from "../memory/MemoryAnchors.ts"
import { RunLimits } from "../run/RunLimits.ts"
import { GroupsByRole, ToolGroup } from "../tool/ToolGroup.ts"
import { ModelSettings } from "./ModelSettings.ts"
import { ProviderTools } from "./ProviderTools.ts"
import { AnchorKind } from "../memory/MemoryAnchors.ts"
import { between, defaulted } from "../value/Bounds.ts"

export const AgentKindName = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,62}$/, { description: "a lower-case name such as clerk" })
)

/** What sort of agent it is: who may talk with it, and what one address of it is about. */
export class AgentKind extends Schema.Opaque<AgentKind>()(
  Schema.Struct({
    /** A lower-case name of at most 63 characters, by which a console groups agents. */
    name: AgentKindName,
    /** Who talks with its agents, such as `operators`. Only those for `customers` may be named in `customer_agents`. */
    audience: AgentKindName,
    /**
     * What one address of the agent is about. Its persistent memory belongs to the same thing: the start fails where its
     * `memory.anchor` says otherwise. Absent = anything.
     */
    scope: Schema.optionalKey(AnchorKind)
  })
) {}

/** How often an actor may crash within `window_ms` before it is stopped, and how long it waits before each restart. */
export class Supervision extends Schema.Opaque<Supervision>()(
  Schema.Struct({
    /** How many crashes within `window_ms` restart the actor, 0 to 1,000; the next one stops it, and its run fails. Absent = 3. */
    restarts_max: defaulted(between(0, 1_000), 3),
    /** In ms, 1 to a day. Absent = 60,000. */
    window_ms: defaulted(between(1, 86_400_000), 60_000),
    /** The wait before the first restart, in ms, 0 to 60,000; it doubles with each further one. Absent = 100. */
    backoff_initial_ms: defaulted(between(0, 60_000), 100),
    /** The longest wait before a restart, in ms, 0 to 600,000. Absent = 5,000. */
    backoff_max_ms: defaulted(between(0, 600_000), 5_000)
  })
) {}

/** The supervision of an agent that declares none, and of an address whose agent this process does not know. */
export const defaultSupervision: Supervision = Supervision.make({})

/**
 * What happens to a message that arrives while the actor is busy: it waits (`enqueue`), is refused (`reject`), or cancels the
 * earlier runs that have not ended (`interrupt`). `answer`: it waits too, unless the run before it waits for people; then a side
 * run answers it meanwhile (`SideRun.ts`).
 */
export const MailboxPolicy = Schema.Literals(["enqueue", "reject", "interrupt", "answer"])
export type MailboxPolicy = typeof MailboxPolicy.Type

/**
 * What a resume does when the definition or its tools have changed since the run was accepted. `continue`: the run goes on with
 * the new ones. `fail`: the run fails. `wait`: the run waits for a process that has the old ones.
 */
export const OnChange = Schema.Literals(["continue", "fail", "wait"])
export type OnChange = typeof OnChange.Type

/**
 * How a prompt that is too long is shortened, oldest part first. `truncate`: results are replaced by a note of their size,
 * then whole runs and steps are removed. `summarise`: the agent's model summarises the removed part; if that fails, it is
 * truncated.
 */
export const CompactionPolicy = Schema.Literals(["truncate", "summarise"])
export type CompactionPolicy = typeof CompactionPolicy.Type

const agentSpec = Schema.Struct({
  /** Messages name it: a lower-case letter and up to 63 of them, digits, `_` or `-`. Throws `InvalidInput` if it does not fit. */
  name: AgentName,
  /** Absent = it may serve anybody. An agent whose kind is not meant for customers is never open to them. */
  kind: Schema.optionalKey(AgentKind),
  /** What it is for: supervisors read it to choose a specialist, people in lists. Absent = empty. */
  description: defaulted(Schema.String, ""),
  /** The system prompt of its turns. Customers and other agents are not shown it. */
  instructions: Schema.String,
  /** The model's name for the gateway. Absent = the model of `start`. */
  model: Schema.optionalKey(Schema.String),
  /** Output tokens, temperature, tool choice and other settings of its turns. Absent = those of the provider. */
  model_settings: Schema.optionalKey(ModelSettings),
  /**
   * Its tools: registry keys (`namespace.name@version`), or plain names where those are unique. One that is not registered ends
   * the start. Absent = none.
   */
  tools: defaulted(Schema.Array(Schema.String), []),
  /**
   * Tools that the model's provider may run by itself, such as `["web_search"]`. If the provider ran any other tool in a turn,
   * the frame ends. Absent = none.
   */
  provider_tools: Schema.optionalKey(ProviderTools),
  /**
   * The capabilities that the agent's tools may use: `name`, or `name:scope` with a glob as the scope, such as
   * `fs.read:/workspace/*`. Absent = every tool that needs a capability is refused.
   */
  capabilities: Schema.optionalKey(Schema.Array(Capability).check(Schema.isMaxLength(256))),
  /**
   * Narrows `tools` to these groups. Tools of other groups are not shown to the model, and calls to them are refused. Absent =
   * all groups.
   */
  groups: Schema.optionalKey(Schema.Array(ToolGroup)),
  /**
   * Narrows `groups` to those that are listed under any role of the message's sender. A sender without a listed role has no
   * tools. An admin has every role but `customer`. A specialist's own table applies to the same sender. Absent = all groups for
   * everyone.
   */
  groups_by_role: Schema.optionalKey(GroupsByRole),
  /**
   * JSON Schema of the arguments with which another agent delegates to this one. The message that this agent receives is those
   * arguments as JSON. Absent = `{ task }`, and the text of `task` is the message.
   */
  takes: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  /**
   * Agents that this one may delegate to; each is a tool `ask_NAME`. A delegation is a frame of the same run, within the run's
   * limits and with its memory: the specialist's own `limits`, `on_change` and `memory` apply only to runs of its own. A
   * specialist that has neither tools nor specialists is left out, with a warning at the start. It uses no capability that this
   * agent lacks, unless `specialist_capabilities` has it.
   */
  specialists: defaulted(Schema.Array(AgentName), []),
  /**
   * Capabilities that specialists may use for this agent although its own tools may not, in the form of `capabilities`. Each
   * specialist still needs them itself, and so does every agent above this one. At most 256; only with `specialists`. Absent =
   * none.
   */
  specialist_capabilities: Schema.optionalKey(
    Schema.Array(Capability).check(Schema.isMaxLength(256))
  ),
  /**
   * Agents to which this one may hand over the conversation. The new agent goes on in the same run with its history. It uses its
   * own instructions and tools, but no capability that this agent lacks. At most 32. Absent = none.
   */
  handoffs: Schema.optionalKey(Schema.Array(AgentName).check(Schema.isMaxLength(32))),
  /**
   * What one run may use: turns, calls, tokens, cost, time (`RunLimits`). Absent = 25 turns, 1,000 calls, and the other defaults
   * there.
   */
  limits: defaulted(Schema.toType(RunLimits), RunLimits.make({})),
  /**
   * What its turns may use over many runs, per customer, conversation, agent or tenant, beside the budgets of `start`: at most 32.
   * A specialist's turns count for the specialist. Absent = none.
   */
  budgets: Schema.optionalKey(Budgets),
  /**
   * What happens to a message that arrives while the actor is busy: it waits (`enqueue`), is refused (`reject`), or cancels the
   * runs before it (`interrupt`). `answer`: it waits while the run before it is at work; while that run waits for people, a side
   * run answers it, which is told the open questions, is offered only tools that read, asks nobody and changes nothing. The
   * waiting run is left as it is. Side runs of a conversation go one after another. Absent = `enqueue`.
   */
  mailbox: defaulted(MailboxPolicy, "enqueue" as const),
  /** How many messages may wait for one address, side runs included, 1 to 1,000,000; one more is refused. Absent = 1,000. */
  mailbox_max: defaulted(between(1, 1_000_000), 1_000),
  /**
   * What becomes of a run whose agent or tools have changed since it was accepted: it goes on with the new ones (`continue`),
   * fails (`fail`), or waits for a process with the old ones (`wait`). Absent = `continue`.
   */
  on_change: defaulted(OnChange, "continue" as const),
  /** How often its actors may crash, and how long they wait before each restart. Absent = 3 times in a minute. */
  supervision: defaulted(Schema.toType(Supervision), defaultSupervision),
  /** How much of the conversation's past a run's model is shown, in tokens, at most 10,000,000; 0 = nothing. Absent = 16,000. */
  history_tokens_max: defaulted(between(0, 10_000_000), 16_000),
  /**
   * The longest prompt of a turn (instructions, tools, history and the run so far), in tokens as the `Tokenizer` counts: the
   * model's window less room for the answer. A longer prompt, or history above `history_tokens_max`, is compacted. At most
   * 10,000,000. Absent = 100,000.
   */
  context_tokens_max: defaulted(between(1, 10_000_000), 100_000),
  /**
   * How a prompt that is too long is shortened, oldest part first: results become notes, then runs and steps go (`truncate`), or
   * the agent's model summarises what goes (`summarise`). Absent = `truncate`.
   */
  compaction: defaulted(CompactionPolicy, "truncate" as const),
  /**
   * To whom its lasting memory belongs, and how much of it a run is told (`MemorySpec`). Absent = no memories are put into a
   * run's prompt, and none are passed on when it ends; tools may still remember and recall.
   */
  memory: Schema.optionalKey(Schema.toType(MemorySpec))
})

/** The members of an agent, of which only the name and the instructions are required. */
export interface AgentSpecInput extends Schema.Struct.MakeIn<typeof agentSpec.fields> {}

/**
 * An agent as data: its name, instructions, tools and bounds. `make` throws `InvalidInput` that names the member and the cure.
 */
export class AgentSpec extends Schema.Opaque<AgentSpec>()(agentSpec) {
  /** An agent with all defaults. Throws `InvalidInput` that names the member and the cure. */
  declare static readonly make: (input: AgentSpecInput, options?: Schema.MakeOptions) => AgentSpec
}
throwInvalidInputInMake(AgentSpec, "agent")

/** No agent of the runtime has this name. */
export class AgentNotFound extends Schema.TaggedError<AgentNotFound>()("AgentNotFound", {
  /** The name that was asked for. */
  agent: Schema.String,
  /** The agents that there are. */
  available: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `there is no agent ${JSON.stringify(this.agent)}`
  }
}
