/**
 * The operations on runs: their summaries, their events, and operators' commands to them.
 */
import { Schema } from "effect"
import { ComparedDeed } from "../replay/ComparedDeeds.ts"
import { ForkOptions } from "../replay/ForkOptions.ts"
import { CallId, ConversationId, RunId } from "../value/Ids.ts"
import { RunEvent } from "../run/RunEvent.ts"
import { RunItem } from "../run/RunItem.ts"
import { AnySettlement, SettleOutcome, UnknownCall } from "../run/UnknownCall.ts"
import { RunFilters } from "./Filters.ts"
import { CallRecord } from "../tool/CallRecord.ts"
import { operation } from "./Operation.ts"
import { After, Limit, Reason } from "./Page.ts"
import { RunSummary } from "./RunSummary.ts"

const Entry = Schema.Struct({
  seq: Schema.Int,
  /** When the event was journaled, in ms since 1970. */
  at: Schema.Int,
  event: RunEvent
})

const params = Schema.Struct({ id: RunId })

export const list = operation({
  id: "list",
  name: "runs",
  method: "GET",
  path: "/v1/runs",
  query: RunFilters,
  success: Schema.Struct({
    items: Schema.Array(RunItem),
    next_after: Schema.optionalKey(RunId)
  }),
  right: "inspect",
  gives: "items",
  summary: "Runs, newest first, and those that wait"
})

export const get = operation({
  id: "get",
  name: "run",
  method: "GET",
  path: "/v1/runs/:id",
  params,
  success: RunSummary,
  problems: [404, 409],
  right: "inspect",
  args: ["id"],
  summary: "A run and what it waits for"
})

export const events = operation({
  id: "events",
  name: "runEvents",
  method: "GET",
  path: "/v1/runs/:id/events",
  params,
  query: Schema.Struct({
    limit: Schema.optionalKey(Limit),
    /** The page contains events with a greater `seq` than this. */
    after: Schema.optionalKey(After)
  }),
  success: Schema.Struct({
    items: Schema.Array(Entry),
    next_after: Schema.optionalKey(Schema.Int)
  }),
  problems: [404, 409],
  right: "inspect",
  args: ["id"],
  gives: "items",
  summary: "A run's events"
})

export const records = operation({
  id: "records",
  name: "records",
  method: "GET",
  path: "/v1/runs/:id/records",
  params,
  query: Schema.Struct({
    limit: Schema.optionalKey(Limit),
    /** The page begins after the record with this key. */
    after: Schema.optionalKey(CallRecord.fields.key)
  }),
  success: Schema.Struct({
    items: Schema.Array(CallRecord.annotate({ identifier: "CallRecord" })),
    next_after: Schema.optionalKey(Schema.String)
  }),
  problems: [404],
  right: "inspect",
  args: ["id"],
  gives: "items",
  summary: "Records of a run's calls, oldest first",
  description: "Of a service that keeps them (`record`), shortly after each call."
})

export const unknown = operation({
  id: "unknown",
  name: "unknown",
  method: "GET",
  path: "/v1/unknown-calls",
  success: Schema.Struct({ items: Schema.Array(UnknownCall) }),
  right: "inspect",
  gives: "items",
  summary: "Calls whose outcome is unknown, oldest first; at most 500"
})

export const cancel = operation({
  id: "cancel",
  name: "cancel",
  method: "POST",
  path: "/v1/runs/:id/cancel",
  params,
  payload: Schema.Struct({ reason: Reason }),
  problems: [404, 409],
  right: "cancel",
  args: ["id", "by", "reason"],
  summary: "Cancel a run; its open questions are closed"
})

export const settle = operation({
  id: "settle",
  name: "settle",
  method: "POST",
  path: "/v1/runs/:id/settle",
  params,
  payload: Schema.Struct({ call: CallId, outcome: SettleOutcome }),
  takes: Schema.Struct({ call: CallId, outcome: AnySettlement }),
  problems: [404, 409],
  right: "settle",
  args: ["id", "call", "outcome"],
  summary: "Say what became of an unknown call"
})

export const fork = operation({
  id: "fork",
  name: "fork",
  method: "POST",
  path: "/v1/runs/:id/fork",
  params,
  payload: ForkOptions,
  success: Schema.Struct({
    /** The new run. */
    id: RunId,
    /** Its conversation, which takes no messages. */
    conversation: ConversationId,
    /** False = the idempotency key was known, and this is the fork of that time. */
    created: Schema.Boolean
  }),
  status: 201,
  problems: [404, 409, 422],
  right: "fork",
  args: ["id"],
  summary: "Run it again from a turn on, with another message, model or policy",
  description:
    "The new run is given the turns before. It changes nothing: calls get the results that calls with the same arguments had in the run; reads that it did not make run, for its sender; all others are refused, and nobody is asked."
})

export const comparison = operation({
  id: "comparison",
  name: "comparison",
  method: "GET",
  path: "/v1/runs/:id/comparison",
  params,
  query: Schema.Struct({
    /** The run that it is compared with, such as another fork. Absent = the run that it was forked from. */
    of: Schema.optionalKey(RunId)
  }),
  success: Schema.Struct({
    /** The run that it is compared with. */
    of: RunId,
    /** What the two did, in order; at most 1,000. */
    items: Schema.Array(ComparedDeed),
    /** There are more than that. */
    is_cut: Schema.Boolean
  }),
  problems: [404, 409],
  right: "inspect",
  args: ["id"],
  summary: "A run beside another one, such as that which it was forked from"
})
