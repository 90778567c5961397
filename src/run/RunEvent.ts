/**
 * What can happen to a run: its state is the fold of these events alone. The decider has no clock, so the time of an event is in
 * the journal's row, and no randomness, so ids of approvals enter as inputs.
 */
import { Schema } from "effect"
import { ApprovalPayload, ClientResult, Decision } from "../approval/Approval.ts"
import { FrameCut, HistoryCut } from "../conversation/Cut.ts"
import { CheckedJson, CheckedJsonRecord } from "../value/JsonObject.ts"
import { FilePart, Part } from "../conversation/Part.ts"
import { Spending } from "../cost/Spending.ts"
import { TurnCost, Usage } from "../cost/TurnCost.ts"
import { ToolErrorClass, ToolErrorKind, ToolFailure } from "../error/ToolError.ts"
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
import { Authorized } from "../permission/Authorization.ts"
import { Role, Roles } from "../principal/Principal.ts"
import { Permission } from "../tool/SideEffects.ts"
import { OnLoss } from "../tool/ToolSpec.ts"
import { FinishReason, ProviderRan, Source } from "./ProviderWork.ts"
import { Nesting } from "./Nesting.ts"
import { LimitName, RunLimits } from "./RunLimits.ts"

export { Usage } from "../cost/TurnCost.ts"
export { FinishReason } from "./ProviderWork.ts"

/** A call as the model proposed it. `model_id` is the model's own id for it, which may repeat and identifies nothing here. */
export const ProposedCall = Schema.Struct({
  model_id: Schema.String,
  name: Schema.String,
  arguments: CheckedJson,
  /** The text that was not JSON; then `arguments` is null. */
  malformed: Schema.optionalKey(Schema.String),
  /** Goes back to the turn's provider with the call, unchanged. Not for users. */
  provider: Schema.optionalKey(CheckedJson)
})
export interface ProposedCall extends Schema.Schema.Type<typeof ProposedCall> {}

/** A reasoning part that must go back to its provider unchanged. */
export const Reasoning = Schema.Struct({
  text: Schema.String,
  provider: Schema.optionalKey(CheckedJson)
})
export interface Reasoning extends Schema.Schema.Type<typeof Reasoning> {}

/**
 * One part of a turn, in the model's order: the next so many UTF-16 units of `text`, the next of `reasoning`, the next of
 * `calls`, the next of `files`, or something that means nothing to anyone but its provider.
 */
export const TurnPart = Schema.Union([
  Schema.Struct({
    of: Schema.Literal("text"),
    units: Schema.Int,
    provider: Schema.optionalKey(CheckedJson)
  }),
  Schema.Struct({ of: Schema.Literals(["reasoning", "call"]) }),
  Schema.Struct({ of: Schema.Literal("file"), provider: Schema.optionalKey(CheckedJson) }),
  Schema.Struct({
    of: Schema.Literal("custom"),
    kind: Schema.String,
    provider: Schema.optionalKey(CheckedJson)
  })
])
export type TurnPart = typeof TurnPart.Type

/** The one result of a call. `Value.json` is the whole encoded result as JSON text; the model gets a copy of at most 32,768 bytes. */
export const Outcome = Schema.Union([
  Schema.TaggedStruct("Value", { json: Schema.String }),
  Schema.TaggedStruct("Failed", { error: ToolFailure }),
  Schema.TaggedStruct("Denied", { by: Schema.String, reason: Schema.String }),
  Schema.TaggedStruct("Revised", { by: Schema.String, note: Schema.String }),
  Schema.TaggedStruct("Expired", {}),
  Schema.TaggedStruct("Cancelled", {}),
  Schema.TaggedStruct("Unknown", {})
])
export type Outcome = typeof Outcome.Type

/** Digests of what a run was accepted with. A resume that finds others follows the agent's `on_change`. */
export const Pins = Schema.Struct({ definition: Schema.String, tools: Schema.String })
export interface Pins extends Schema.Schema.Type<typeof Pins> {}

/** How a run ends. */
export const EndStatus = Schema.Literals(["complete", "failed", "cancelled"])
export type EndStatus = typeof EndStatus.Type

/** The call that a side effect happened for, and when it was dispatched, in ms since 1970. Absent = in this run. */
export const Repeats = Schema.Struct({
  run: RunId,
  call: CallId,
  at: Schema.optionalKey(Schema.Int)
})
export interface Repeats extends Schema.Schema.Type<typeof Repeats> {}

/** A key that an operator has freed: of which call, by whom and when, in ms since 1970. */
const FreedKey = Schema.Struct({
  run: RunId,
  call: CallId,
  by: Schema.String,
  at: Schema.Int
})
export interface FreedKey extends Schema.Schema.Type<typeof FreedKey> {}

/** When the body began and ended, in ms since 1970, for `ToolCallMetadata`. */
const times = {
  started_at: Schema.optionalKey(Schema.Int),
  ended_at: Schema.optionalKey(Schema.Int)
}

const RunAccepted = Schema.TaggedStruct("RunAccepted", {
  tenant: Tenant,
  address: Address,
  conversation: ConversationId,
  message: Schema.String,
  /** The agent that it was sent to, where the conversation began with another. Absent = that of the address. */
  agent: Schema.optionalKey(AgentName),
  /** Agents that handed the conversation over before: the run may use no capability that one of them lacks. Absent = none. */
  handed_by: Schema.optionalKey(Schema.Array(AgentName)),
  /** The principal that sent the message. */
  by: Schema.String,
  /** Its roles at that time, which hold for the whole run. Absent = not known. */
  roles: Schema.optionalKey(Roles),
  trace_id: Schema.String,
  /** The span that sent the message: the parent of the run's spans. Absent = it was not traced. */
  span_id: Schema.optionalKey(Schema.String),
  /** The sender did not sample its trace, so no span of the run is exported. Absent = spans may be exported. */
  sampled: Schema.optionalKey(Schema.Literal(false)),
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
  pins: Pins
})
const RunClaimed = Schema.TaggedStruct("RunClaimed", { epoch: Schema.Int, owner: Schema.String })
/** What the functions of an agent gave for a turn: its instructions and tools. */
export const TurnInputs = Schema.Struct({
  /** SHA-256 of the instructions and the names of the offered tools, as canonical JSON. */
  digest: Schema.String,
  /** Tools of the agent that the turn was not offered. Absent = none. */
  without: Schema.optionalKey(Schema.Array(Schema.String))
})
export interface TurnInputs extends Schema.Schema.Type<typeof TurnInputs> {}

const ModelTurned = Schema.TaggedStruct("ModelTurned", {
  frame: FrameId,
  /** Counts the frame's turns from 1. */
  step: Schema.Int,
  text: Schema.String,
  calls: Schema.Array(ProposedCall),
  finish: FinishReason,
  /** The provider's own reason, where it is more specific than `finish`. */
  finish_raw: Schema.optionalKey(Schema.String),
  reasoning: Schema.optionalKey(Schema.Array(Reasoning)),
  /** Absent = reasoning, then text, then calls, and nothing that goes back to the provider with a text. */
  parts: Schema.optionalKey(Schema.Array(TurnPart)),
  /** The provider and model of the turn: reasoning and `provider` of its parts go back to these only. */
  origin: Schema.optionalKey(Schema.String),
  usage: Schema.optionalKey(Usage),
  model: Schema.optionalKey(Schema.String),
  /** Absent where no price table was given, and of a graph's turns. */
  cost: Schema.optionalKey(TurnCost),
  /** Tools that the provider ran by itself. The gate was asked for them before the turn. */
  ran: Schema.optionalKey(Schema.Array(ProviderRan)),
  /** The first of them that the turn was not offered: it ends its frame, and none of its calls runs. */
  undeclared: Schema.optionalKey(Schema.String),
  /** What the text refers to, according to the provider. */
  sources: Schema.optionalKey(Schema.Array(Source)),
  /** Images and other files that the model made. Absent = none. */
  files: Schema.optionalKey(Schema.Array(FilePart)),
  /** Why the provider could not read a call of the turn, in its words. At most 4,000 UTF-16 units. */
  unreadable: Schema.optionalKey(Schema.String),
  /** What the functions of the agent gave for the turn. Absent = the agent has none. */
  given: Schema.optionalKey(TurnInputs),
  /** The JSON of an answer that fits its schema, where the text has more around it. */
  answer: Schema.optionalKey(Schema.String),
  /** Why the answer does not fit its schema, at most 1,000 UTF-16 units: its frame has one more turn. */
  unfit: Schema.optionalKey(Schema.String),
  /** It has neither text nor a call, or has an unreadable one: its frame has another turn. */
  empty: Schema.optionalKey(Schema.Literal(true))
})
/**
 * A prompt was too long: from here on a frame is shown less of what came before. Nothing is deleted. A cut replaces the one
 * before it; an absent one leaves it as it was.
 */
const Compacted = Schema.TaggedStruct("Compacted", {
  frame: FrameId,
  /** The turn before which it happened. */
  step: Schema.Int,
  /** `bound`: the agent's own bounds; `refused`: the provider found the prompt too long. */
  cause: Schema.Literals(["bound", "refused"]),
  how: Schema.Literals(["truncated", "summarised"]),
  history: Schema.optionalKey(HistoryCut),
  own: Schema.optionalKey(FrameCut),
  /** Tokens of the whole prompt. `tokens_after` is above `tokens_max` where nothing more can be left out. */
  tokens_before: Schema.Int,
  tokens_after: Schema.Int,
  tokens_max: Schema.Int,
  /** Of the turn that summarised, which is no step of the run. */
  usage: Schema.optionalKey(Usage),
  model: Schema.optionalKey(Schema.String),
  cost: Schema.optionalKey(TurnCost),
  /** Why nothing was summarised, though the agent's `compaction` is `summarise`. */
  fallback: Schema.optionalKey(Schema.String)
})
/**
 * What the run was told of its agent's memory before its first turn. From here on its prompts have these lines, whatever
 * becomes of the memories.
 */
const MemoryRecalled = Schema.TaggedStruct("MemoryRecalled", {
  /** Best first. */
  lines: Schema.Array(RecalledLine),
  /** Of the lines with their heading, at most the agent's `recall_tokens_max`. */
  tokens: Schema.Int,
  /** Why there are none, where the store did not answer. For operators. */
  failure: Schema.optionalKey(Schema.String)
})
const FrameOpened = Schema.TaggedStruct("FrameOpened", {
  frame: FrameId,
  call: CallId,
  agent: AgentName,
  input: Schema.String
})
/** A call has handed the conversation over: once all calls of its turn have their results, the other agent goes on with its frame. */
const HandedOff = Schema.TaggedStruct("HandedOff", { call: CallId, from: AgentName, to: AgentName })
/** What the host filled in for a call, by the place in its request, and the key of the tool for which it was asked. */
const HostValues = Schema.Struct({
  tool: Schema.String,
  values: CheckedJsonRecord
})
export interface HostValues extends Schema.Schema.Type<typeof HostValues> {}

/** What a person is shown of a call that waits, and what the answer is bound to. */
const question = {
  /** The call that waits; for a question about a limit an id that no call has. */
  call: CallId,
  approval: ApprovalId,
  digest: Schema.String,
  /** Of all that people are shown. Absent in events of releases that had none. */
  shown_digest: Schema.optionalKey(Schema.String),
  /** A digest without run and call: an equal proposal has the same one. */
  proposal: Schema.String,
  payload: ApprovalPayload,
  tool_key: Schema.String,
  /** A digest of the tool's whole spec: a decision holds for this version of the tool only. */
  tool_digest: Schema.optionalKey(Schema.String),
  arguments: CheckedJson,
  policy_version: Schema.String,
  approvers: Schema.Array(Role),
  expires_at: Schema.optionalKey(Schema.Int),
  /** These and no others are sent, however long the answer takes. Absent = the host fills in nothing. */
  filled: Schema.optionalKey(HostValues)
}
const ApprovalRequested = Schema.TaggedStruct("ApprovalRequested", {
  ...question,
  /** The limit that the run as a whole has reached: an approval extends it, a denial stops the run. */
  limit: Schema.optionalKey(LimitName)
})
/** The gate has let a call through whose result the client of the conversation gives: the run waits for it, as for a decision. */
const ClientRequested = Schema.TaggedStruct("ClientRequested", {
  ...question,
  client: ClientResult
})
const ApprovalDecided = Schema.TaggedStruct("ApprovalDecided", {
  call: CallId,
  approval: ApprovalId,
  decision: Decision,
  by: Schema.String,
  /** The digest of exactly what was approved: for `Modify` of the replacement. */
  digest: Schema.String
})
const ApprovalClosed = Schema.TaggedStruct("ApprovalClosed", {
  call: CallId,
  approval: ApprovalId,
  /** `answered`: by the client of a call, whose result is the event behind this one. */
  how: Schema.Literals(["expired", "cancelled", "answered"]),
  by: Schema.optionalKey(Schema.String)
})
const CallDispatched = Schema.TaggedStruct("CallDispatched", {
  call: CallId,
  /** Derived from run, frame and ordinal; the same at every attempt. */
  key: Schema.String,
  epoch: Schema.Int,
  /** Pinned here: the decider is pure, and the registry may change. */
  on_loss: OnLoss,
  /**
   * The registry key of its tool, where it may be sent again or reconciled: only this version of the tool may do so.
   * Absent = neither, or an earlier release dispatched it.
   */
  tool: Schema.optionalKey(Schema.String),
  /** With `ask`, in ms since 1970: the body is over then, and its tool does not reconcile it before. */
  over_at: Schema.optionalKey(Schema.Int),
  /**
   * `queue`: sent to a worker by the tool queue, which runs each key once; a second dispatch reads the result from the queue.
   * Absent = the body ran in the runtime, or an earlier release dispatched it.
   */
  via: Schema.optionalKey(Schema.Literal("queue")),
  /** What it is bound to beside its arguments: the endpoint of a direct call, its fixed body, the tokens of its bound fields. */
  target: Schema.optionalKey(CheckedJson),
  /** What its host filled in for it. Absent = nothing. */
  filled: Schema.optionalKey(HostValues),
  /** What its workspace had authorised in advance, so that no person was asked. Absent = a person was, or nobody had to be. */
  authorized: Schema.optionalKey(Authorized),
  /** Its key was held by a call whose outcome nobody knows. Absent = by none. */
  freed: Schema.optionalKey(FreedKey)
})
const CallUnknown = Schema.TaggedStruct("CallUnknown", {
  call: CallId,
  /** The tool's name as the model called it, for lists, which do not fold the run. */
  tool: Schema.optionalKey(Schema.String),
  /** What its body has spent on models. Absent = nothing. */
  spent: Schema.optionalKey(Spending)
})
/** An operator orders an unknown call to run again, through the whole gate. */
const CallReopened = Schema.TaggedStruct("CallReopened", { call: CallId, by: Schema.String })
const CallSettled = Schema.TaggedStruct("CallSettled", {
  call: CallId,
  outcome: Outcome,
  /** The person who settled it. Absent = no person did. */
  by: Schema.optionalKey(Schema.String),
  /** The answer of its tool's or policy's permission of each call. Absent = it is the same for every call, or was not asked. */
  permission: Schema.optionalKey(Permission),
  /** Its body did not run: this is the result of an earlier call, of this run or another, that was the same side effect. */
  repeats: Schema.optionalKey(Repeats),
  /** Its value is its frame's answer. Pinned here: the fold is pure. */
  stop: Schema.optionalKey(Schema.Literal(true)),
  /** The model reads the texts in its value unescaped, for they are whole texts, such as a file's. Pinned like `stop`. */
  texts: Schema.optionalKey(Schema.Literal(true)),
  /** Files that its body attached to its value. Absent = none. */
  files: Schema.optionalKey(Schema.Array(FilePart)),
  /** What its body has spent on models, also where it failed. Absent = nothing. */
  spent: Schema.optionalKey(Spending),
  ...times
})
/** `wall_ms_max` has passed, and the run goes on (`on_breach`). */
const LimitReached = Schema.TaggedStruct("LimitReached", { limit: Schema.Literal("wall_ms_max") })
const RunStopping = Schema.TaggedStruct("RunStopping", {
  status: EndStatus,
  by: Schema.String,
  reason: Schema.String,
  /** For operators; not for end users. */
  message: Schema.optionalKey(Schema.String),
  /** When a new run may do better, in ms from then, as a model's provider says. */
  retry_after_ms: Schema.optionalKey(Schema.Int)
})
const RunEnded = Schema.TaggedStruct("RunEnded", {
  status: EndStatus,
  reason: Schema.String,
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

export const RunEvent = Schema.Union([
  RunAccepted,
  RunClaimed,
  ModelTurned,
  Compacted,
  MemoryRecalled,
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

export type RunAccepted = typeof RunAccepted.Type
export type ModelTurned = typeof ModelTurned.Type
export type Compacted = typeof Compacted.Type
export type MemoryRecalled = typeof MemoryRecalled.Type
export type HandedOff = typeof HandedOff.Type
export type ApprovalRequested = typeof ApprovalRequested.Type
export type ClientRequested = typeof ClientRequested.Type
/** What a run waits for a person with. */
export type Question = ApprovalRequested | ClientRequested
export type ApprovalDecided = typeof ApprovalDecided.Type
export type CallDispatched = typeof CallDispatched.Type
export type CallSettled = typeof CallSettled.Type
export type RunStopping = typeof RunStopping.Type
export type RunEnded = typeof RunEnded.Type

/** A run's event with its place and time (ms since 1970). `seq` counts from 0 without a gap. */
export interface JournalEntry {
  readonly seq: number
  readonly at: number
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

/** The error class and kind of outcomes without a failure of their own. Cancelled counts as a timeout: its caller interrupted it. */
const refusals = {
  Denied: { class: "ToolPolicyError", kind: "permission" },
  Revised: { class: "ToolPolicyError", kind: "permission" },
  Expired: { class: "ToolPolicyError", kind: "permission" },
  Cancelled: { class: "ToolTransientError", kind: "timeout" },
  Unknown: { class: "ToolTerminalError", kind: "unknown" }
} as const

const errorOf = (outcome: Outcome): Pick<ToolFailure, "class" | "kind"> | undefined =>
  outcome._tag === "Value"
    ? undefined
    : outcome._tag === "Failed"
      ? outcome.error
      : refusals[outcome._tag]

/** The stored name of the error class of a settled call, or null on success. */
export const errorClassOf = (outcome: Outcome): ToolErrorClass | null =>
  errorOf(outcome)?.class ?? null

/** The error kind of SemStreams of a settled call, or null on success. */
export const errorKindOf = (outcome: Outcome): ToolErrorKind | null =>
  errorOf(outcome)?.kind ?? null
