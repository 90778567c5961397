/**
 * The filters of the lists of conversations, approvals, runs, costs and dead letters, over HTTP and in code.
 */
import { Schema } from "effect"
import { ApprovalStatus, decisionNames, ListOrder } from "../approval/Approval.ts"
import { ConversationCursor } from "../conversation/Conversation.ts"
import { CostGroup } from "../cost/TurnCost.ts"
import { DeadLetterStatus } from "../delivery/OutboxMessage.ts"
import { AgentName, ApprovalId, MessageId, RunId } from "../value/Ids.ts"
import { WaitingFor } from "../run/RunItem.ts"
import { RunStatus } from "../run/RunState.ts"
import { Filter, Limit, Moment, orderedRange } from "./Page.ts"

/** 1 to 200 characters with at least one word, and at most 8. */
const Search = Filter.check(
  Schema.makeFilter((text: string) => {
    const words = wordsIn(text).length
    return (words >= 1 && words <= 8) || "Expected 1 to 8 words"
  })
)

/** The words of a search. */
export const wordsIn = (text: string): ReadonlyArray<string> => text.match(/\S+/gu) ?? []

export const ConversationFilters = Schema.Struct({
  limit: Schema.optionalKey(Limit),
  /** The page begins behind the conversation with this `cursor`. */
  after: Schema.optionalKey(ConversationCursor),
  /**
   * Only conversations that have each of these words in their title or in what was said last: 1 to 8 words, of which the last
   * 50 messages and the first 4,000 characters of each are searched. A page looks at 500 conversations.
   */
  search: Schema.optionalKey(Search)
})

export const ApprovalFilters = Schema.Struct({
  /** Absent = `pending`. */
  status: Schema.optionalKey(ApprovalStatus),
  /** Absent = `oldest` first. */
  order: Schema.optionalKey(ListOrder),
  run_id: Schema.optionalKey(RunId),
  /** The tool's plain name, or its key. */
  tool: Schema.optionalKey(Filter),
  /** The agent that asks, maybe a specialist. */
  agent: Schema.optionalKey(AgentName),
  /** Who answered. */
  decided_by: Schema.optionalKey(Filter),
  /** What was answered. */
  decision: Schema.optionalKey(Schema.Literals(Object.values(decisionNames))),
  /** Only questions that were asked at or after `requested_from` and before `requested_to`, in ms since 1970. */
  requested_from: Schema.optionalKey(Moment),
  requested_to: Schema.optionalKey(Moment),
  limit: Schema.optionalKey(Limit),
  /** The page begins after this approval. */
  after: Schema.optionalKey(ApprovalId)
}).check(orderedRange("requested_from", "requested_to"))

export const CostFilters = Schema.Struct({
  /** What the totals are grouped by; absent = `agent`. */
  by: Schema.optionalKey(CostGroup),
  /** Only costs that were journaled at or after `from` and before `to`, in ms since 1970. */
  from: Schema.optionalKey(Moment),
  to: Schema.optionalKey(Moment),
  agent: Schema.optionalKey(AgentName),
  model: Schema.optionalKey(Filter),
  run: Schema.optionalKey(RunId),
  /** Only what this tool spent on models. It is named by its plain name. */
  tool: Schema.optionalKey(Filter),
  trace_id: Schema.optionalKey(Filter),
  limit: Schema.optionalKey(Limit),
  /** The page begins after the total with this key. */
  after: Schema.optionalKey(Filter)
}).check(orderedRange("from", "to"))

export const RunFilters = Schema.Struct({
  /** Matches no run in quarantine: `quarantined` lists those. */
  status: Schema.optionalKey(RunStatus),
  /** `approval`: a person has to decide. `unknown`: an operator has to settle a call. */
  waiting: Schema.optionalKey(WaitingFor),
  /** The agent that their messages went to, or that they have handed the conversation over to. */
  agent: Schema.optionalKey(AgentName),
  /** Only runs whose message was accepted at or after `created_from` and before `created_to`, in ms since 1970. */
  created_from: Schema.optionalKey(Moment),
  created_to: Schema.optionalKey(Moment),
  limit: Schema.optionalKey(Limit),
  /** The page begins after this id, the last one of the previous page. */
  after: Schema.optionalKey(RunId)
}).check(orderedRange("created_from", "created_to"))

export const LetterFilters = Schema.Struct({
  handler_name: Schema.optionalKey(Filter),
  /** The key of the message. */
  key: Schema.optionalKey(Filter),
  /** What the last failure begins with. */
  error: Schema.optionalKey(Filter),
  /** Only messages that became dead letters at or after `dead_from` and at or before `dead_to`, in ms since 1970. */
  dead_from: Schema.optionalKey(Moment),
  dead_to: Schema.optionalKey(Moment),
  /** Absent = `dead`. */
  status: Schema.optionalKey(DeadLetterStatus),
  limit: Schema.optionalKey(Limit),
  /** The page begins after this id, the last one of the previous page. */
  after: Schema.optionalKey(MessageId)
}).check(orderedRange("dead_from", "dead_to"))
