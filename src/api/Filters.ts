/**
 * What lists of runs, of costs and of dead letters are asked for, over HTTP and in code.
 */
import { Schema } from "effect"
import { CostGroup } from "../cost/CostTotal.ts"
import { DeadLetterStatus } from "../delivery/Outbox.ts"
import { AgentName, MessageId, RunId } from "../Ids.ts"
import { WaitingFor } from "../run/RunItem.ts"
import { RunStatus } from "../run/RunState.ts"
import { Filter, Limit, Moment, orderedRange } from "./Page.ts"

export const CostFilters = Schema.Struct({
  /** The key of the totals; absent = `agent`. */
  by: Schema.optionalKey(CostGroup),
  /** Journaled at or after `from` and before `to`, in ms since 1970. */
  from: Schema.optionalKey(Moment),
  to: Schema.optionalKey(Moment),
  agent: Schema.optionalKey(AgentName),
  model: Schema.optionalKey(Filter),
  run: Schema.optionalKey(RunId),
  /** Only what this tool, by its plain name, spent on models. */
  tool: Schema.optionalKey(Filter),
  trace_id: Schema.optionalKey(Filter),
  limit: Schema.optionalKey(Limit),
  /** Totals after this key. */
  after: Schema.optionalKey(Filter)
}).check(orderedRange("from", "to"))

export const RunFilters = Schema.Struct({
  status: Schema.optionalKey(RunStatus),
  waiting: Schema.optionalKey(WaitingFor),
  agent: Schema.optionalKey(AgentName),
  /** Whose message was accepted at or after `created_from` and before `created_to`, in ms since 1970. */
  created_from: Schema.optionalKey(Moment),
  created_to: Schema.optionalKey(Moment),
  limit: Schema.optionalKey(Limit),
  /** Those behind this one, which is the last of the page before. */
  after: Schema.optionalKey(RunId)
}).check(orderedRange("created_from", "created_to"))

export const LetterFilters = Schema.Struct({
  handler_name: Schema.optionalKey(Filter),
  /** Died at or after, and at or before, in ms since 1970. */
  dead_from: Schema.optionalKey(Moment),
  dead_to: Schema.optionalKey(Moment),
  /** Absent = `dead`. */
  status: Schema.optionalKey(DeadLetterStatus),
  limit: Schema.optionalKey(Limit),
  /** Those behind this one, which is the last of the page before. */
  after: Schema.optionalKey(MessageId)
}).check(orderedRange("dead_from", "dead_to"))
