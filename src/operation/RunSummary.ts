/** What is shown of a run. */
import { Schema } from "effect"
import { ApprovalPayload } from "../approval/Approval.ts"
import { TaskStatus } from "../delivery/AgentTask.ts"
import { FilePart } from "../conversation/Part.ts"
import { AgentName, ApprovalId, CallId, ConversationId, RunId } from "../value/Ids.ts"
import { Roles } from "../principal/Principal.ts"
import { Source } from "../run/ProviderWork.ts"
import { Forked } from "../run/Forked.ts"
import { Nesting } from "../run/Nesting.ts"
import { FinishReason } from "../run/RunEvent.ts"
import { LimitName } from "../run/RunLimits.ts"
import { RunStatus } from "../run/RunState.ts"

/** An approval that waits. `limit` is present if it is about a limit of the run and not about a call. */
const PendingApproval = Schema.Struct({
  call: CallId,
  payload: ApprovalPayload,
  limit: Schema.optionalKey(LimitName)
})

/** A run's cost. `amount` is an exact decimal as text, and absent if no turn had a price. */
const RunCost = Schema.Struct({
  currency: Schema.optionalKey(Schema.String),
  amount: Schema.optionalKey(Schema.String),
  /** How many turns have no known cost; `amount` does not contain them. */
  unpriced_turns: Schema.Int
})

/** A dispatched call with an unknown outcome, which an operator must settle. */
const UnknownCall = Schema.Struct({
  call: CallId,
  tool: Schema.String,
  arguments: Schema.Json
})

/** A summary of a run, derived from its events. */
export const RunSummary = Schema.Struct({
  id: RunId,
  conversation: ConversationId,
  /** The agent that has the conversation after all handoffs of this run. */
  agent: AgentName,
  ordinal: Schema.Int,
  status: RunStatus,
  task_status: TaskStatus,
  message: Schema.String,
  by: Schema.String,
  /** Who sent it for `by`. Absent = `by` did. */
  via: Schema.optionalKey(Schema.String),
  /** The sender's roles when the message was sent; they apply for the whole run. Absent = not known. */
  roles: Schema.optionalKey(Roles),
  trace_id: Schema.String,
  /** The run that started this one through another system. Absent = there is none. */
  nested: Schema.optionalKey(Nesting),
  /** The run that it was forked from, and how. Absent = from none. */
  forked: Schema.optionalKey(Forked),
  created_at: Schema.Int,
  /** How many events the run has so far. */
  length: Schema.Int,
  /** How many model turns the run has taken so far. */
  steps: Schema.Int,
  /** Input and output tokens so far, as the models' providers report them, or as estimated for `tokens_max`. */
  tokens: Schema.Int,
  /** The cost of the run's turns so far; absent without a price table. */
  cost: Schema.optionalKey(RunCost),
  pending_approvals: Schema.Array(PendingApproval),
  unknown_calls: Schema.Array(UnknownCall),
  /** Calls that wait for a result from the client of the conversation. */
  client_calls: Schema.Array(Schema.Struct({ id: ApprovalId, call: CallId, tool: Schema.String })),
  /** Why the run ended, or is being stopped. */
  reason: Schema.optionalKey(Schema.String),
  /** The reason in a sentence for operators, where there is one. */
  detail: Schema.optionalKey(Schema.String),
  /** When the same message may do better, in ms from the end, where a model's provider asked for such a wait. */
  retry_after_ms: Schema.optionalKey(Schema.Int),
  /** The run's answer. */
  text: Schema.optionalKey(Schema.String),
  /** How the last turn ended; present if the answer was cut, refused or filtered. */
  finish: Schema.optionalKey(FinishReason),
  /** The sources of the answer. */
  sources: Schema.optionalKey(Schema.Array(Source)),
  /** The files of the answer: `/v1/conversations/{id}/files/{digest}` has their bytes. */
  files: Schema.optionalKey(Schema.Array(FilePart))
}).annotate({ identifier: "Run" })
export interface RunSummary extends Schema.Schema.Type<typeof RunSummary> {}
