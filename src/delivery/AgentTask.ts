/**
 * A task: one message that an agent handles to its end. Its id is the id of its run.
 */
import { Schema } from "effect"
import { canonical } from "../Canonical.ts"
import { Part } from "../conversation/Part.ts"
import { Address, AgentName, ConversationId, RunId, Tenant } from "../Ids.ts"
import { Roles } from "../Principal.ts"
import { Nesting } from "../run/Nesting.ts"

export const TaskStatus = Schema.Literals(["pending", "processing", "complete", "failed"])
export type TaskStatus = typeof TaskStatus.Type

/** What a message says beside its text. */
const said = {
  /** The agent that it is for, where the conversation began with another. Absent = that of the address. */
  agent: Schema.optionalKey(AgentName),
  /** Agents that handed the conversation over to that one. Absent = none. */
  handed_by: Schema.optionalKey(Schema.Array(AgentName)),
  /** The span of its trace in which it was sent. Absent = it was sent outside any span. */
  span_id: Schema.optionalKey(Schema.String),
  /** The sender excluded it from tracing (W3C Trace Context, flags 00). Absent = it may be traced. */
  sampled: Schema.optionalKey(Schema.Literal(false)),
  /** What its sender said of the run around it. Absent = there is none. */
  nested: Schema.optionalKey(Nesting),
  /** JSON Schema that the answer has to fit. Absent = any text is an answer. */
  answer_schema: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  /** What the run is told, and its model is not. Absent = nothing. */
  context: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  /** Members of its context that are secrets and stand nowhere. Absent = none. */
  context_secrets: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The files of the message, and texts between them, after its text. Absent = none. */
  parts: Schema.optionalKey(Schema.Array(Part))
}
const Said = Schema.Struct(said)
export interface Said extends Schema.Schema.Type<typeof Said> {}

/** The same where a member that was not said may be undefined. */
export type MaybeSaid = { readonly [Name in keyof Said]?: Said[Name] | undefined }

/** What a message says beside its text, without the members that it does not say. */
export const saidOf = ({
  agent,
  answer_schema,
  context,
  context_secrets,
  handed_by,
  nested,
  parts,
  sampled,
  span_id
}: MaybeSaid): Said => ({
  ...(agent === undefined ? undefined : { agent }),
  ...(handed_by === undefined ? undefined : { handed_by }),
  ...(span_id === undefined ? undefined : { span_id }),
  ...(sampled === undefined ? undefined : { sampled }),
  ...(nested === undefined ? undefined : { nested }),
  ...(answer_schema === undefined ? undefined : { answer_schema }),
  ...(context === undefined ? undefined : { context }),
  ...(context_secrets === undefined ? undefined : { context_secrets }),
  ...(parts === undefined ? undefined : { parts })
})

const compared = ({ agent, answer_schema, context, context_secrets, parts }: MaybeSaid): string =>
  canonical([agent, answer_schema, context, context_secrets, parts].map((each) => each ?? null))

/**
 * Do two messages ask for the same answer, bring the same files and tell their runs the same? Traces of a retry differ, and
 * secrets are not compared: nothing of them is known, and a token may be a new one.
 */
export const isSaidAlike = (a: MaybeSaid, b: MaybeSaid): boolean => compared(a) === compared(b)

/** The trace of a message and what it says, as one record. */
export const TraceAndSaid = Schema.Struct({ trace_id: Schema.String, ...said })

export const AgentTask = Schema.Struct({
  id: RunId,
  tenant: Tenant,
  address: Address,
  conversation: ConversationId,
  /** The task's number in its conversation, from 1; allotted when the task is accepted. */
  ordinal: Schema.Int,
  message: Schema.String,
  /** The principal that sent it. */
  by: Schema.String,
  /** The roles of that principal at that time. Absent = not known. */
  roles: Schema.optionalKey(Roles),
  trace_id: Schema.String,
  ...said,
  status: TaskStatus,
  /** Why it failed. */
  reason: Schema.optionalKey(Schema.String),
  created_at: Schema.Int
})
export interface AgentTask extends Schema.Schema.Type<typeof AgentTask> {}

/** Too many messages wait for this actor. */
export class MailboxFull extends Schema.TaggedError<MailboxFull>()("MailboxFull", {
  address: Schema.String,
  waiting_max: Schema.Int
}) {
  override get message(): string {
    return `${this.address} has ${this.waiting_max} messages waiting, which is its limit`
  }
}

/** The agent's mailbox policy is `reject`, and its actor handles another message. */
export class AgentBusy extends Schema.TaggedError<AgentBusy>()("AgentBusy", {
  address: Schema.String
}) {
  override get message(): string {
    return `${this.address} handles a message and takes no other until it has ended`
  }
}

/** The message comes from a run that is as deep as the agent lets runs start one another (`nested_depth_max`). */
export class NestedTooDeep extends Schema.TaggedError<NestedTooDeep>()("NestedTooDeep", {
  depth: Schema.Int,
  depth_max: Schema.Int
}) {
  override get message(): string {
    return `this run would be nested ${this.depth} deep, and its agent takes ${this.depth_max}`
  }
}

/** An earlier message with another content had the same idempotency key. */
export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()(
  "IdempotencyConflict",
  { key: Schema.String }
) {
  override get message(): string {
    return "this idempotency key came with another message before"
  }
}

/** The conversation is one of another agent, in which this one may take no part. */
export class AddressConflict extends Schema.TaggedError<AddressConflict>()("AddressConflict", {
  conversation: Schema.String,
  agent: Schema.String
}) {
  override get message(): string {
    return `conversation ${this.conversation} is not one of agent ${this.agent}`
  }
}

/** The message is larger than a message may be. */
export class MessageTooLarge extends Schema.TaggedError<MessageTooLarge>()("MessageTooLarge", {
  bytes_max: Schema.Int
}) {
  override get message(): string {
    return `a message has at most ${this.bytes_max} bytes of UTF-8`
  }
}
