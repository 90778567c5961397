/**
 * What can happen to a run. A run's state is the fold of these and nothing else. Time belongs to the journal's row, not
 * to the event: the decider has no clock. Randomness (approval ids) enters as input and is journaled.
 */
import { Schema } from "effect"
import { ApprovalPayload, Decision } from "../approval/Approval.ts"
import { FrameCut, HistoryCut } from "../conversation/Cut.ts"
import { Spending } from "../cost/Spending.ts"
import { TurnCost } from "../cost/TurnCost.ts"
import { Usage } from "../cost/Usage.ts"
import { ToolErrorClass, ToolErrorKind, ToolFailure } from "../error/ToolError.ts"
import { Address, AgentName, ApprovalId, CallId, ConversationId, FrameId, Tenant } from "../Ids.ts"
import { Role, Roles } from "../Principal.ts"
import { OnLoss } from "../tool/ToolSpec.ts"
import { FinishReason } from "./FinishReason.ts"
import { ProviderRan, Source } from "./ProviderWork.ts"
import { LimitName, RunLimits } from "./RunLimits.ts"

export { Usage } from "../cost/Usage.ts"
export { FinishReason } from "./FinishReason.ts"

/** A use of a tool as the model asked for it. `model_id` is the model's own id: it may repeat, and names nothing. */
export const ProposedCall = Schema.Struct({
  model_id: Schema.String,
  name: Schema.String,
  arguments: Schema.Json,
  /** The text that was not JSON; then `arguments` is null. */
  malformed: Schema.optionalKey(Schema.String),
  /** What the turn's provider wants back with the call, unchanged. Not for users. */
  provider: Schema.optionalKey(Schema.Json)
})
export interface ProposedCall extends Schema.Schema.Type<typeof ProposedCall> {}

/** A reasoning part that must go back to its provider unchanged. */
export const Reasoning = Schema.Struct({
  text: Schema.String,
  provider: Schema.optionalKey(Schema.Json)
})
export interface Reasoning extends Schema.Schema.Type<typeof Reasoning> {}

/**
 * One part of a turn, in the model's order: the next so many UTF-16 units of `text`, the next of `reasoning`, the next of
 * `calls`, or something that means nothing to anyone but its provider.
 */
export const TurnPart = Schema.Union([
  Schema.Struct({
    of: Schema.Literal("text"),
    units: Schema.Int,
    provider: Schema.optionalKey(Schema.Json)
  }),
  Schema.Struct({ of: Schema.Literals(["reasoning", "call"]) }),
  Schema.Struct({
    of: Schema.Literal("custom"),
    kind: Schema.String,
    provider: Schema.optionalKey(Schema.Json)
  })
])
export type TurnPart = typeof TurnPart.Type

/** The one result of a call. `Value.json` is the encoded result as JSON text, whole: the model gets a copy of it. */
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

/** Digests of what a run was accepted with; a resume that finds others follows the agent's policy. */
export const Pins = Schema.Struct({ definition: Schema.String, tools: Schema.String })
export interface Pins extends Schema.Schema.Type<typeof Pins> {}

/** How a stopped run ends. */
export const EndStatus = Schema.Literals(["complete", "failed", "cancelled"])
export type EndStatus = typeof EndStatus.Type

/** ToolCallMetadata's own facts (ST-07) that the event cannot derive: when the body began and ended, in ms. */
const times = {
  started_at: Schema.optionalKey(Schema.Int),
  ended_at: Schema.optionalKey(Schema.Int)
}

const RunAccepted = Schema.TaggedStruct("RunAccepted", {
  tenant: Tenant,
  address: Address,
  conversation: ConversationId,
  message: Schema.String,
  /** The principal that sent the message. */
  by: Schema.String,
  /** The roles that it had then: what they open and close does not change while the run lasts. Absent = not known. */
  roles: Schema.optionalKey(Roles),
  trace_id: Schema.String,
  /** The span that sent the message, of that trace: the parent of the run's own. Absent = nobody traced it. */
  span_id: Schema.optionalKey(Schema.String),
  /** Who sent it wants it in no trace: no span of the run is told of. Absent = it may be in one. */
  sampled: Schema.optionalKey(Schema.Literal(false)),
  /** Decoded, so that a run that began before a limit was thought of has its default. */
  limits: RunLimits,
  pins: Pins
})
const RunClaimed = Schema.TaggedStruct("RunClaimed", { epoch: Schema.Int, owner: Schema.String })
const ModelTurned = Schema.TaggedStruct("ModelTurned", {
  frame: FrameId,
  /** Counts the frame's turns from 1. */
  step: Schema.Int,
  text: Schema.String,
  calls: Schema.Array(ProposedCall),
  finish: FinishReason,
  /** The provider's own word, where it says more than `finish` does. */
  finish_raw: Schema.optionalKey(Schema.String),
  reasoning: Schema.optionalKey(Schema.Array(Reasoning)),
  /** Absent = reasoning, then text, then calls, and nothing that a provider wants back with a text. */
  parts: Schema.optionalKey(Schema.Array(TurnPart)),
  /** The provider and model that alone get back what is theirs: reasoning and `provider` of any part. */
  origin: Schema.optionalKey(Schema.String),
  usage: Schema.optionalKey(Usage),
  model: Schema.optionalKey(Schema.String),
  /** Absent where no price table was given. */
  cost: Schema.optionalKey(TurnCost),
  /** What the provider ran by itself: it passed no gate. */
  ran: Schema.optionalKey(Schema.Array(ProviderRan)),
  /** What the text refers to, as the provider says. */
  sources: Schema.optionalKey(Schema.Array(Source)),
  /** The provider says that there was a call that it could not read, and this is what it says of it. At most 4,000 units. */
  unreadable: Schema.optionalKey(Schema.String),
  /** Neither text nor a call, where there should have been one, or an unreadable call: its frame is asked again. */
  empty: Schema.optionalKey(Schema.Literal(true))
})
/**
 * A prompt had become too long: from here on a frame is shown less of what came before. Nothing is deleted. A cut that is
 * there replaces the one before it whole; one that is absent stays as it was.
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
  /** Of the whole prompt, as the tokenizer counts. After it may be above the bound, where nothing more can go. */
  tokens_before: Schema.Int,
  tokens_after: Schema.Int,
  tokens_max: Schema.Int,
  /** Of the turn that summarised, which is no step of the run. */
  usage: Schema.optionalKey(Usage),
  model: Schema.optionalKey(Schema.String),
  cost: Schema.optionalKey(TurnCost),
  /** Why nothing was summarised, where the agent wants it. */
  fallback: Schema.optionalKey(Schema.String)
})
const FrameOpened = Schema.TaggedStruct("FrameOpened", {
  frame: FrameId,
  call: CallId,
  agent: AgentName,
  input: Schema.String
})
const ApprovalRequested = Schema.TaggedStruct("ApprovalRequested", {
  /** The call that waits; for a question about a limit a name that no call has. */
  call: CallId,
  /** The run as a whole has reached this bound: approved, it is extended, and denied, the run ends. */
  limit: Schema.optionalKey(LimitName),
  approval: ApprovalId,
  digest: Schema.String,
  /** Of all that people are shown. Absent = asked before there was one. */
  shown_digest: Schema.optionalKey(Schema.String),
  /** A digest without run and call: the same proposal again has the same one. */
  proposal: Schema.String,
  payload: ApprovalPayload,
  tool_key: Schema.String,
  /** A digest of the tool's whole spec: a decision lets no other tool of that key run. */
  tool_digest: Schema.optionalKey(Schema.String),
  arguments: Schema.Json,
  policy_version: Schema.String,
  approvers: Schema.Array(Role),
  expires_at: Schema.optionalKey(Schema.Int)
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
  how: Schema.Literals(["expired", "cancelled"]),
  by: Schema.optionalKey(Schema.String)
})
const CallDispatched = Schema.TaggedStruct("CallDispatched", {
  call: CallId,
  /** Derived from run, frame and ordinal; the same at every attempt. */
  key: Schema.String,
  epoch: Schema.Int,
  /** Pinned here, because a pure decider cannot ask a registry that may have changed. */
  on_loss: OnLoss,
  /**
   * The registry key of its tool, where it may be sent again or asked for: no other tool is, nor another version.
   * Absent = neither, or an earlier release sent it.
   */
  tool: Schema.optionalKey(Schema.String),
  /** Of `ask`, in ms since 1970: its body is over then, and nobody asks what became of it before. */
  over_at: Schema.optionalKey(Schema.Int),
  /**
   * `queue`: sent to the queue of a worker, which runs a key once however often it is sent; a second dispatch is a
   * question to that queue, and no second execution. Absent = the body ran in the runtime, or an earlier release sent it.
   */
  via: Schema.optionalKey(Schema.Literal("queue"))
})
const CallUnknown = Schema.TaggedStruct("CallUnknown", {
  call: CallId,
  /** Its tool, as the model called it: whoever lists what waits has no fold at hand. */
  tool: Schema.optionalKey(Schema.String),
  /** What its body had spent on models. */
  spent: Schema.optionalKey(Spending)
})
/** An operator looked, and orders an unknown call to run again, through the whole gate. */
const CallReopened = Schema.TaggedStruct("CallReopened", { call: CallId, by: Schema.String })
const CallSettled = Schema.TaggedStruct("CallSettled", {
  call: CallId,
  outcome: Outcome,
  /** Who settled it, where a person did. */
  by: Schema.optionalKey(Schema.String),
  /** Its value is its frame's answer. Pinned here, because a pure fold cannot ask a registry. */
  stop: Schema.optionalKey(Schema.Literal(true)),
  /** The texts in its value are of their own, such as a file's: its model reads them unescaped. Pinned like `stop`. */
  texts: Schema.optionalKey(Schema.Literal(true)),
  /** What its body spent on models, whatever came of it. Absent = nothing. */
  spent: Schema.optionalKey(Spending),
  ...times
})
/** Time is up. Journaled where the run goes on in spite of it, because a fold has no clock. */
const LimitReached = Schema.TaggedStruct("LimitReached", { limit: Schema.Literal("wall_ms_max") })
const RunStopping = Schema.TaggedStruct("RunStopping", {
  status: EndStatus,
  by: Schema.String,
  reason: Schema.String,
  /** What an operator should know of it; not for end users. */
  message: Schema.optionalKey(Schema.String)
})
const RunEnded = Schema.TaggedStruct("RunEnded", {
  status: EndStatus,
  reason: Schema.String,
  text: Schema.String,
  /** How the supervisor's last turn ended, where it did not end well: the text is cut, refused or filtered. */
  finish: Schema.optionalKey(FinishReason),
  /** What the answer refers to. */
  sources: Schema.optionalKey(Schema.Array(Source))
})

export const RunEvent = Schema.Union([
  RunAccepted,
  RunClaimed,
  ModelTurned,
  Compacted,
  FrameOpened,
  ApprovalRequested,
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
export type ApprovalRequested = typeof ApprovalRequested.Type
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

/** The stored name of the error class of a settled call, or null on success (ST-09). */
export const errorClassOf = (outcome: Outcome): ToolErrorClass | null => {
  switch (outcome._tag) {
    case "Value":
      return null
    case "Failed":
      return outcome.error.class
    case "Denied":
    case "Revised":
    case "Expired":
      return "ToolPolicyError"
    // Interrupted by its caller, which counts as a timeout (SM-27).
    case "Cancelled":
      return "ToolTransientError"
    case "Unknown":
      return "ToolTerminalError"
  }
}

/** The same for SemStreams' kinds. */
export const errorKindOf = (outcome: Outcome): ToolErrorKind | null => {
  switch (outcome._tag) {
    case "Value":
      return null
    case "Failed":
      return outcome.error.kind
    case "Denied":
    case "Revised":
    case "Expired":
      return "permission"
    case "Cancelled":
      return "timeout"
    case "Unknown":
      return "unknown"
  }
}
