/**
 * The operations that act on all items that match a filter: runs are cancelled, dead letters sent again or given up, calls of unknown
 * outcome settled. A count comes first. Then each request does one step, and says behind which item the next one begins. An item is
 * acted on by the operation for one item, with its rights and its record, and what became unfit for it meanwhile is skipped. Whoever
 * repeats a step that was lost, as where the process was killed, does nothing twice: what was done matches no more.
 */
import { Schema } from "effect"
import { AnySettlement, SettleOutcome } from "../run/UnknownCall.ts"
import { AgentName, CallId, MessageId, RunId } from "../value/Ids.ts"
import { LetterFilters, RunFilters } from "./Filters.ts"
import { operation } from "./Operation.ts"
import { bulk_max, Filter, Limit, Moment, orderedRange, Reason } from "./Page.ts"

const ofRuns = {
  /** Absent = any run that is not over. */
  status: Schema.optionalKey(Schema.Literals(["pending", "processing", "awaiting_approval"])),
  waiting: RunFilters.fields.waiting,
  agent: RunFilters.fields.agent,
  created_from: RunFilters.fields.created_from,
  created_to: RunFilters.fields.created_to
}
const created = orderedRange("created_from", "created_to")

/** Of letters that wait. */
const ofLetters = {
  handler_name: LetterFilters.fields.handler_name,
  key: LetterFilters.fields.key,
  error: LetterFilters.fields.error,
  dead_from: LetterFilters.fields.dead_from,
  dead_to: LetterFilters.fields.dead_to
}
const died = orderedRange("dead_from", "dead_to")

const ofCalls = {
  /** The tool, as the model called it. */
  tool: Schema.optionalKey(Filter),
  agent: Schema.optionalKey(AgentName),
  /** Only calls that became unknown before this moment, in ms since 1970. */
  since_to: Schema.optionalKey(Moment)
}

const Counted = Schema.Struct({
  /** How many match. */
  count: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: bulk_max })),
  /** There are more than that. */
  is_cut: Schema.optionalKey(Schema.Literal(true)),
  /** When it was counted, in ms since 1970. What matches only since then is not acted on by a bulk that is given it. */
  until: Moment
}).annotate({ identifier: "BulkCount" })

/** `skipped`: somebody was faster, so that it needs it no more. `failed`: it could not be done now. */
const Outcome = Schema.Literals(["done", "skipped", "failed"])
export type Outcome = typeof Outcome.Type

/** What became of one item. */
const became = {
  outcome: Outcome,
  /** Why it was not done. */
  detail: Schema.optionalKey(Schema.String)
}

/** What each step is given beside the filter. */
const step = {
  /** That of the count. */
  until: Moment,
  /** The most items of this step; absent = 100. It has fewer once it has taken two seconds. */
  limit: Schema.optionalKey(Limit)
}

/** The place of a call in the list of those whose outcome is unknown; it stays where the call is settled. */
const CallCursor = Schema.String.check(
  Schema.isMaxLength(1_000),
  Schema.isPattern(/^\d{1,16}:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:[!-~]+$/, {
    expected: "a next_after of a step"
  })
)

const letterStep = {
  payload: Schema.Struct({
    ...ofLetters,
    ...step,
    reason: Reason,
    /** The step begins behind this letter. */
    after: Schema.optionalKey(MessageId)
  }).check(died),
  success: Schema.Struct({
    items: Schema.Array(Schema.Struct({ event_id: MessageId, ...became })),
    /** Absent = nothing is left. */
    next_after: Schema.optionalKey(MessageId)
  }),
  right: "redeliver"
} as const

export const countRuns = operation({
  id: "countRuns",
  name: "countRuns",
  method: "GET",
  path: "/v1/bulk/runs",
  query: Schema.Struct(ofRuns).check(created),
  success: Counted,
  right: "inspect",
  summary: "How many runs a bulk would cancel, up to 10,000"
})

export const cancelRuns = operation({
  id: "cancelRuns",
  name: "cancelRuns",
  method: "POST",
  path: "/v1/bulk/runs/cancel",
  payload: Schema.Struct({
    ...ofRuns,
    ...step,
    reason: Reason,
    /** The step begins behind this run. */
    after: Schema.optionalKey(RunId)
  }).check(created),
  success: Schema.Struct({
    items: Schema.Array(Schema.Struct({ id: RunId, ...became })),
    /** Absent = nothing is left. */
    next_after: Schema.optionalKey(RunId)
  }),
  right: "cancel",
  summary: "Cancel the next runs that match, newest first",
  description: "Not for those who may cancel only their own."
})

export const countLetters = operation({
  id: "countLetters",
  name: "countDeadLetters",
  method: "GET",
  path: "/v1/bulk/dead-letters",
  query: Schema.Struct(ofLetters).check(died),
  success: Counted,
  right: "inspect",
  summary: "How many dead letters wait that match, up to 10,000"
})

export const replayLetters = operation({
  id: "replayLetters",
  name: "replayDeadLetters",
  method: "POST",
  path: "/v1/bulk/dead-letters/replay",
  ...letterStep,
  summary: "Send the next dead letters that match again, newest first"
})

export const discardLetters = operation({
  id: "discardLetters",
  name: "discardDeadLetters",
  method: "POST",
  path: "/v1/bulk/dead-letters/discard",
  ...letterStep,
  summary: "Give the next dead letters that match up, newest first"
})

export const countCalls = operation({
  id: "countCalls",
  name: "countUnknown",
  method: "GET",
  path: "/v1/bulk/unknown-calls",
  query: Schema.Struct(ofCalls),
  success: Counted,
  right: "inspect",
  summary: "How many calls have an unknown outcome and match, up to 10,000"
})

const settling = {
  ...ofCalls,
  ...step,
  outcome: SettleOutcome,
  /** The step begins behind this call. */
  after: Schema.optionalKey(CallCursor)
}

export const settleCalls = operation({
  id: "settleCalls",
  name: "settleCalls",
  method: "POST",
  path: "/v1/bulk/unknown-calls/settle",
  payload: Schema.Struct(settling),
  takes: Schema.Struct({ ...settling, outcome: AnySettlement }),
  success: Schema.Struct({
    items: Schema.Array(Schema.Struct({ run_id: RunId, call: CallId, ...became })),
    /** Absent = nothing is left. */
    next_after: Schema.optionalKey(CallCursor)
  }),
  right: "settle",
  summary: "Say of the next unknown calls that match what became of them, oldest first"
})
