/**
 * A task: one message that an agent handles to completion. Its id is also the id of its run.
 */
import { Schema, Struct } from "effect"
import { canonical } from "../value/Canonical.ts"
import { Part } from "../conversation/Part.ts"
import { CheckedJsonRecord } from "../value/JsonObject.ts"
import { Address, AgentName, ConversationId, RunId, Tenant } from "../value/Ids.ts"
import { Roles } from "../principal/Principal.ts"
import { Placement } from "../run/Placement.ts"
import { Nesting } from "../run/Nesting.ts"
import { QueuedBehind } from "../run/QueuedBehind.ts"
import { defined } from "../value/PlainObject.ts"

/** What has become of a task: nobody has begun it, it is at work, its run is complete, or it failed or was cancelled. */
export const TaskStatus = Schema.Literals(["pending", "processing", "complete", "failed"])
export type TaskStatus = typeof TaskStatus.Type

/** The members of a message besides its text. */
const extras = {
  /** The run that its run is forked from. Absent = from none. The stores find forks by it, where it stands. */
  forked: Placement.forked,
  /** The agent that handles the message, if the conversation began with another one. Absent = the agent of the address. */
  agent: Schema.optionalKey(AgentName),
  /** The agents that handed the conversation over, up to that agent. Absent = none. */
  handed_by: Schema.optionalKey(Schema.Array(AgentName)),
  /** The trace span in which the message was sent. Absent = it was sent outside any span. */
  span_id: Schema.optionalKey(Schema.String),
  /** The sender excluded it from tracing (W3C Trace Context, flags 00). Absent = it may be traced. */
  sampled: Schema.optionalKey(Schema.Literal(false)),
  /** The `tracestate` that came with the sender's trace (W3C Trace Context). Absent = none. */
  tracestate: Schema.optionalKey(Schema.String),
  /** The run from within which the message was sent, as the sender states it. Absent = there is none. */
  nested: Schema.optionalKey(Nesting),
  /** JSON Schema that the answer has to fit. Absent = any text is an answer. */
  answer_schema: Schema.optionalKey(CheckedJsonRecord),
  /** Context for the run's instructions, permissions and tools, which the model does not see. Absent = none. */
  context: Schema.optionalKey(CheckedJsonRecord),
  /** The names of the context's members that are secrets. Their values are stored nowhere. Absent = none. */
  context_secrets: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The files of the message and the texts between them, which follow its text. Absent = none. */
  parts: Schema.optionalKey(Schema.Array(Part)),
  /** The run in place of which this one stands. Absent = it follows the run before it. */
  branch: Placement.branch,
  /** What was answered elsewhere, in an imported history: the run ends with it. Absent = a model answers. */
  imported: Placement.imported
} as const
const StoredExtras = Schema.Struct(extras)
/** The members of a message besides its text, without those that are undefined. */
export interface StoredExtras extends Schema.Schema.Type<typeof StoredExtras> {}

/** The members of a message besides its text, where absent ones may also be undefined. */
export type MessageExtras = {
  readonly [Name in keyof StoredExtras]?: StoredExtras[Name] | undefined
}

const extra_names = Struct.keys(extras)

/** The same members, without those that are undefined. */
export const extrasOf = (given: MessageExtras): StoredExtras =>
  defined(Struct.pick(given, extra_names))

const compared = ({
  agent,
  answer_schema,
  branch,
  context,
  context_secrets,
  forked,
  imported,
  parts
}: MessageExtras): string =>
  canonical(
    [
      agent,
      answer_schema,
      context,
      context_secrets,
      parts,
      branch?.replaces,
      imported?.digest,
      forked
    ].map((each) => each ?? null)
  )

/**
 * Whether two messages request the same answer and have the same files and context. Traces are ignored, because those of a retry
 * differ. Secrets are not compared, because their values are not stored and a token may have been renewed.
 */
export const hasSameExtras = (a: MessageExtras, b: MessageExtras): boolean =>
  compared(a) === compared(b)

/** The trace of a message and its members besides its text, as one record. */
export const TraceAndExtras = Schema.Struct({ trace_id: Schema.String, ...extras })

/** A message that was accepted for an agent, and what has become of it. */
export const AgentTask = Schema.Struct({
  /** The id of the task and of its run. */
  id: RunId,
  /** Whose task it is. */
  tenant: Tenant,
  /** The actor that handles it. */
  address: Address,
  /** The conversation that it is in. */
  conversation: ConversationId,
  /** The task's number in its conversation, from 1; allotted when the task is accepted. */
  ordinal: Schema.Int,
  /** The text of the message. */
  message: Schema.String,
  /** The principal that sent the message. */
  by: Schema.String,
  /** The roles of that principal when it sent the message. Absent = not known. */
  roles: Schema.optionalKey(Roles),
  /** Who sent it for that principal. Absent = the principal itself. */
  via: Schema.optionalKey(Schema.String),
  /** The trace that it is in. */
  trace_id: Schema.String,
  ...extras,
  /** What has become of it. */
  status: TaskStatus,
  /** Why the task failed. */
  reason: Schema.optionalKey(Schema.String),
  /** When it was accepted, in ms since 1970. */
  created_at: Schema.Int
})
export interface AgentTask extends Schema.Schema.Type<typeof AgentTask> {}

/** The actor's mailbox already has `waiting_max` messages. */
export class MailboxFull extends Schema.TaggedError<MailboxFull>()("MailboxFull", {
  /** The actor, as `agent/key`. */
  address: Schema.String,
  /** The most messages that may wait (`mailbox_max` of the agent). */
  waiting_max: Schema.Int
}) {
  override get message(): string {
    return `${this.address} has ${this.waiting_max} messages waiting, which is its limit`
  }
}

/**
 * The agent's mailbox policy is `reject`, and its actor is handling another message; or the message is to stand in place of one
 * that is being handled.
 */
export class AgentBusy extends Schema.TaggedError<AgentBusy>()("AgentBusy", {
  /** The actor, as `agent/key`. */
  address: Schema.String,
  /** That message waits for people to answer these questions. Absent = it does not, or nobody could tell. */
  behind: Schema.optionalKey(QueuedBehind),
  /** The run that the message was to stand in place of, which is not over. */
  replaces: Schema.optionalKey(RunId)
}) {
  override get message(): string {
    if (this.replaces !== undefined) {
      return `run ${this.replaces} is not over, and only one that is over can be replaced: cancel it, or wait for its end`
    }
    const waits = this.behind === undefined ? "" : `, and run ${this.behind.run} waits for a person`
    return `${this.address} handles a message and takes no other until it has ended${waits}`
  }
}

/** The message comes from a run that is already as deeply nested as the agent allows (`nested_depth_max`). */
export class NestedTooDeep extends Schema.TaggedError<NestedTooDeep>()("NestedTooDeep", {
  /** How deep the new run would be nested. */
  depth: Schema.Int,
  /** The most that its agent allows (`nested_depth_max`). */
  depth_max: Schema.Int
}) {
  override get message(): string {
    return `this run would be nested ${this.depth} deep, and its agent takes ${this.depth_max}`
  }
}

/** An earlier message with different content used the same idempotency key. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()(
  "IdempotencyConflict",
  {
    /** The idempotency key. */
    key: Schema.String,
    /** The run of the earlier message. Absent = its task is not known any more. */
    run_id: Schema.optionalKey(RunId)
  }
) {
  override get message(): string {
    return "this idempotency key came with another message before"
  }
}

/** The conversation belongs to another agent, and this one may not take part in it. */
export class AddressConflict extends Schema.TaggedError<AddressConflict>()("AddressConflict", {
  /** The conversation. */
  conversation: Schema.String,
  /** The agent that the message names. */
  agent: Schema.String
}) {
  override get message(): string {
    return `conversation ${this.conversation} is not one of agent ${this.agent}`
  }
}

/** The message is larger than `bytes_max` bytes. */
export class MessageTooLarge extends Schema.TaggedError<MessageTooLarge>()("MessageTooLarge", {
  /** The most bytes of UTF-8 that a message may have. */
  bytes_max: Schema.Int
}) {
  override get message(): string {
    return `a message has at most ${this.bytes_max} bytes of UTF-8`
  }
}

/** The messages that this process accepts at the moment leave no room for one more, which may be sent again a moment later. */
export class IntakeFull extends Schema.TaggedError<IntakeFull>()("IntakeFull", {
  /** What those of a tenant, or all of them, may take together, by estimate. */
  bytes_max: Schema.Int
}) {
  override get message(): string {
    return `the messages that are being accepted take ${this.bytes_max} bytes, which is the most at the same time: send fewer at once`
  }
}
