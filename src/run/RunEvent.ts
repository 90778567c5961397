/**
 * What can happen to a run: its state is the fold of these events alone. The decider has no clock, so the time of an event is in
 * the journal's row, and no randomness, so ids of approvals enter as inputs.
 */
import { Schema } from "effect"
import { CheckedJsonRecord } from "../value/JsonObject.ts"
import { FilePart, Part } from "../conversation/Part.ts"
import {
  Address,
  AgentName,
  ApprovalId,
  CallId,
  ConversationId,
  FrameId,
  RunId,
  Tenant
} from "../value/Ids.ts"
import { RecalledLine } from "../memory/RecalledLines.ts"
import { Roles, Who } from "../principal/Principal.ts"
import { CallDispatched, CallReopened, CallSettled, CallUnknown } from "./CallEvents.ts"
import { Guarded } from "./GuardVerdict.ts"
import { FinishReason, Source } from "./ProviderWork.ts"
import { Nesting } from "./Nesting.ts"
import { Placement } from "./Placement.ts"
import {
  ApprovalClosed,
  ApprovalDecided,
  ApprovalRequested,
  ClientRequested
} from "./QuestionEvents.ts"
import { RunLimits } from "./RunLimits.ts"
import { Compacted, ModelTurned } from "./TurnEvents.ts"

export { Usage } from "../cost/TurnCost.ts"
export { CallDispatched, CallSettled, errorClassOf, errorKindOf, HostValues } from "./CallEvents.ts"
export { FreedKey, Outcome, Repeats } from "./CallEvents.ts"
export { FinishReason } from "./ProviderWork.ts"
export { ApprovalDecided, ApprovalRequested, ClientRequested } from "./QuestionEvents.ts"
export type { Question } from "./QuestionEvents.ts"
export {
  Compacted,
  ModelTurned,
  ProposedCall,
  Reasoning,
  TurnInputs,
  TurnPart
} from "./TurnEvents.ts"

/** Digests of what a run was accepted with. A resume that finds others follows the agent's `on_change`. */
export class Pins extends Schema.Opaque<Pins>()(
  Schema.Struct({
    /** Of the agent's definition. */
    definition: Schema.String,
    /** Of the specs of its tools. */
    tools: Schema.String
  })
) {}

/** How a run ends. */
export const EndStatus = Schema.Literals(["complete", "failed", "cancelled"])
export type EndStatus = typeof EndStatus.Type

/** A message was accepted, which begins its run. */
export class RunAccepted extends Schema.Opaque<RunAccepted>()(
  Schema.TaggedStruct("RunAccepted", {
    /** Whose run it is. */
    tenant: Tenant,
    /** The actor that handles it. */
    address: Address,
    /** The conversation that it is in. */
    conversation: ConversationId,
    /** The text of the message. */
    message: Schema.String,
    /** The agent that it was sent to, where the conversation began with another. Absent = that of the address. */
    agent: Schema.optionalKey(AgentName),
    /** Agents that handed the conversation over before: the run may use no capability that one of them lacks. Absent = none. */
    handed_by: Schema.optionalKey(Schema.Array(AgentName)),
    /** The principal that sent the message. */
    by: Schema.String,
    /** Who acted for it. Absent = it acted itself. */
    via: Who.fields.via,
    /** Its roles at that time, which hold for the whole run. Absent = not known. */
    roles: Schema.optionalKey(Roles),
    /** The trace that the run is in. */
    trace_id: Schema.String,
    /** The span that sent the message: the parent of the run's spans. Absent = it was not traced. */
    span_id: Schema.optionalKey(Schema.String),
    /** The sender did not sample its trace, so no span of the run is exported. Absent = spans may be exported. */
    sampled: Schema.optionalKey(Schema.Literal(false)),
    /** The `tracestate` that came with the sender's trace. Absent = none. */
    tracestate: Schema.optionalKey(Schema.String),
    /** A run that is older than a limit gets the limit's default when it is decoded. */
    limits: RunLimits,
    /** The run around it, which started it through another system; `limits` are within what is left of that one's. */
    nested: Schema.optionalKey(Nesting),
    /** JSON Schema that the run's answer has to fit. Absent = any text is an answer. */
    answer_schema: Schema.optionalKey(CheckedJsonRecord),
    /** What the run is told, and its model is not. Absent = nothing. */
    context: Schema.optionalKey(CheckedJsonRecord),
    /** Members of its context that are secrets and stand nowhere. Absent = none. */
    context_secrets: Schema.optionalKey(Schema.Array(Schema.String)),
    /** Files of the message, and texts between them, after its text. Their bytes are in the `BlobStore`. Absent = none. */
    parts: Schema.optionalKey(Schema.Array(Part)),
    /** The run in place of which this one stands. Absent = it follows the run before it. */
    branch: Placement.branch,
    /** What was answered elsewhere, in an imported history: the run ends with it. Absent = a model answers. */
    imported: Placement.imported,
    /** The run that it was forked from: what that one did is given to it and not done again. Absent = from none. */
    forked: Placement.forked,
    /** What the run was accepted with. */
    pins: Pins
  })
) {}

export class RunClaimed extends Schema.Opaque<RunClaimed>()(
  Schema.TaggedStruct("RunClaimed", {
    /** Counts the owners of the run from 1. */
    epoch: Schema.Int,
    /** The process that has it. */
    owner: Schema.String
  })
) {}

/**
 * What the run was told of its agent's memory before its first turn. From here on its prompts have these lines, whatever
 * becomes of the memories.
 */
export class MemoryRecalled extends Schema.Opaque<MemoryRecalled>()(
  Schema.TaggedStruct("MemoryRecalled", {
    /** Best first. */
    lines: Schema.Array(RecalledLine),
    /** Of the lines with their heading, at most the agent's `recall_tokens_max`. */
    tokens: Schema.Int,
    /** Why there are none, where the store did not answer. For operators. */
    failure: Schema.optionalKey(Schema.String)
  })
) {}

/** A question of an earlier run, as a side run is told of it. */
export class ToldQuestion extends Schema.Opaque<ToldQuestion>()(
  Schema.Struct({
    call: CallId,
    /** Absent for an unknown outcome. */
    approval: Schema.optionalKey(ApprovalId),
    /** What is waited for: a person's decision, a result of the client, more of a limit, or what became of a call. */
    kind: Schema.Literals(["approval", "client", "limit", "unknown"]),
    tool_name: Schema.String,
    /** The summary that people are shown of the arguments. */
    summary: Schema.String
  })
) {}

/**
 * The run is a side run from here on: it answers beside an earlier run of its conversation that waits for people, and changes
 * nothing (`mailbox: "answer"`). Its prompts have what is told here, whatever becomes of that run.
 */
export class RunBeside extends Schema.Opaque<RunBeside>()(
  Schema.TaggedStruct("RunBeside", {
    /** The run that waits, and how many events it had. */
    run: RunId,
    /** How many events that run had. */
    length: Schema.Int,
    /** What that run was asked, at most 2,000 UTF-16 units. */
    message: Schema.String,
    /** At most 20, oldest first. */
    questions: Schema.Array(ToldQuestion)
  })
) {}

export class FrameOpened extends Schema.Opaque<FrameOpened>()(
  Schema.TaggedStruct("FrameOpened", {
    /** The new frame: its id is that of the call. */
    frame: FrameId,
    /** The call that delegates. */
    call: CallId,
    /** The specialist. */
    agent: AgentName,
    /** What the specialist is told. */
    input: Schema.String
  })
) {}

/** A call has handed the conversation over: once all calls of its turn have their results, the other agent goes on with its frame. */
export class HandedOff extends Schema.Opaque<HandedOff>()(
  Schema.TaggedStruct("HandedOff", {
    /** The call that hands over. */
    call: CallId,
    /** The agent that had the conversation. */
    from: AgentName,
    /** The agent that has it now. */
    to: AgentName
  })
) {}

/** `wall_ms_max` has passed, and the run goes on (`on_breach`). */
export class LimitReached extends Schema.Opaque<LimitReached>()(
  Schema.TaggedStruct("LimitReached", {
    /** The limit that was reached. */
    limit: Schema.Literal("wall_ms_max")
  })
) {}

/** The run is to end as soon as its calls have results. */
export class RunStopping extends Schema.Opaque<RunStopping>()(
  Schema.TaggedStruct("RunStopping", {
    /** How the run will end. */
    status: EndStatus,
    /** Who or what stops it: a principal, or the runtime. */
    by: Schema.String,
    /** Who acted for it. Absent = it acted itself. */
    via: Who.fields.via,
    /** Why, as a code or in a person's words. */
    reason: Schema.String,
    /** For operators; not for end users. */
    message: Schema.optionalKey(Schema.String),
    /** What the sender reads of it in place of an answer. Absent = nothing. */
    told: Schema.optionalKey(Schema.String),
    /** When a new run may do better, in ms from then, as a model's provider says. */
    retry_after_ms: Schema.optionalKey(Schema.Int)
  })
) {}

/** The run has ended. This is its last event. */
export class RunEnded extends Schema.Opaque<RunEnded>()(
  Schema.TaggedStruct("RunEnded", {
    /** How it ended. */
    status: EndStatus,
    /** Why it ended, as a code or in a person's words. */
    reason: Schema.String,
    /** The answer; of a run that failed, what its sender is told. */
    text: Schema.String,
    /** The agent that speaks in the conversation at its end, where that is not the one that the conversation began with. */
    agent: Schema.optionalKey(AgentName),
    /** How the supervisor's last turn ended, where the text is cut, refused or filtered. */
    finish: Schema.optionalKey(FinishReason),
    /** What the answer refers to. */
    sources: Schema.optionalKey(Schema.Array(Source)),
    /** The files of the answer. */
    files: Schema.optionalKey(Schema.Array(FilePart))
  })
) {}

/** One event of a run, told apart by `_tag`. */
export const RunEvent = Schema.Union([
  RunAccepted,
  RunClaimed,
  ModelTurned,
  Compacted,
  MemoryRecalled,
  Guarded,
  RunBeside,
  FrameOpened,
  HandedOff,
  ApprovalRequested,
  ClientRequested,
  ApprovalDecided,
  ApprovalClosed,
  CallDispatched,
  CallUnknown,
  CallReopened,
  CallSettled,
  LimitReached,
  RunStopping,
  RunEnded
])
export type RunEvent = typeof RunEvent.Type

/** A run's event with its place and time (ms since 1970). `seq` counts from 0 without a gap. */
export interface JournalEntry {
  /** The event's place in the journal of the run, from 0. */
  readonly seq: number
  /** When it was journaled, in ms since 1970. */
  readonly at: number
  /** What happened. */
  readonly event: RunEvent
}

/** Events that may be what somebody waits for who waits for the outcome of a run: its end, a question, an unknown outcome. */
const outcomes: ReadonlySet<string> = new Set<RunEvent["_tag"]>([
  "ApprovalRequested",
  "CallUnknown",
  "ClientRequested",
  "RunEnded"
])

/** Whether an event of this tag may end a wait for the outcome of its run. */
export const mayEndWait = (tag: string): boolean => outcomes.has(tag)
