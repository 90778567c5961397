/**
 * The records that commit in one transaction with events: approvals, the task's status, the answer in the conversation, what
 * turns and tools cost. A pure function, so that every journal writes the same.
 */
import { Struct } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import type { Approval, ApprovalStatus, Decision } from "../approval/Approval.ts"
import type { ConversationMessage } from "../conversation/Conversation.ts"
import type { TaskStatus } from "../delivery/AgentTask.ts"
import type { Spending } from "../cost/Spending.ts"
import type { TurnCost } from "../cost/TurnCost.ts"
import type { AgentName, ApprovalId, CallId, RunId, Tenant } from "../value/Ids.ts"
import type { Question, RunEnded, RunEvent, Usage, JournalEntry } from "./RunEvent.ts"
import { openQuestions } from "./RunState.ts"
import type { RunState } from "./RunState.ts"
import { defined } from "../value/PlainObject.ts"

interface ApprovalChange {
  readonly id: ApprovalId
  readonly status: Exclude<ApprovalStatus, "pending">
  readonly decision?: Decision
  readonly by?: string
  readonly via?: string
}

/** A turn, or a use of a model by a tool, in the ledger. Without an amount its cost is not known. */
export interface CostEntry {
  /** Its event's place among those of its append. */
  readonly offset: number
  readonly agent: AgentName
  readonly model: string
  readonly currency: string | undefined
  readonly amount: string | undefined
  readonly prices: string
  readonly usage: Usage
  /** Whose body spent it; absent = a turn of the agent's own. */
  readonly by?: {
    readonly tool: string
    /** Its place among the uses of its call, from 0. */
    readonly part: number
    /** How many turns of the model are in it. */
    readonly turns: number
  }
}

/** The assistant's message. Without `finish`, `sources` and `files` it is its text alone. */
export type AnswerMessage = Pick<
  ConversationMessage,
  "agent" | "content" | "files" | "finish" | "reason" | "sources"
>

const answerOf = (event: RunEnded): AnswerMessage | undefined => {
  const { agent, files, finish, sources, status, text } = event
  // An end that was cut, refused or filtered is shown, also without a text.
  if (text === "" && finish === undefined && files === undefined) return undefined
  const reason = finish === undefined || status === "complete" ? undefined : event.reason
  return { content: text, ...defined({ agent, finish, reason, sources, files }) }
}

/** A question as its event has it. Its tenant is that of its run. */
export type RequestedApproval = Omit<Approval, "tenant">

export interface Projection {
  readonly requested: ReadonlyArray<RequestedApproval>
  readonly answered: ReadonlyArray<ApprovalChange>
  /** The task's new status, when it changes. */
  readonly task: { readonly status: TaskStatus; readonly reason?: string } | undefined
  /** The assistant's message, when the run ends with one. */
  readonly answer: AnswerMessage | undefined
  /** Turns and uses of models by tools that have a cost, or that should have one. */
  readonly costs: ReadonlyArray<CostEntry>
  /** Calls that became unknown. */
  readonly unknown: ReadonlyArray<{ readonly call: CallId; readonly tool: string }>
  /** Calls that are not unknown any more, among them some that never were. */
  readonly known: ReadonlyArray<CallId>
}

const no_usage: Usage = { input_tokens: 0, output_tokens: 0 }

/** A name from outside as a database takes it: no NUL, whole characters, at most 200. */
const nameOf = (model: string): string =>
  truncateUnits(model, 200).replaceAll("\0", "").toWellFormed()

const costEntry = (
  { model, usage }: { readonly model?: string; readonly usage?: Usage },
  cost: TurnCost,
  offset: number
): CostEntry => ({
  offset,
  agent: cost.agent,
  model: nameOf(model ?? ""),
  currency: cost._tag === "Priced" ? cost.currency : undefined,
  amount: cost._tag === "Priced" ? cost.amount : undefined,
  prices: cost.prices,
  usage: usage === undefined || usage.estimated === true ? no_usage : usage
})

/** What a call's body spent: one entry for each priced use. */
const spentEntries = ({ tool, uses }: Spending, offset: number): ReadonlyArray<CostEntry> =>
  uses.flatMap((use, part) =>
    use.cost === undefined
      ? []
      : [
          {
            ...costEntry(use, use.cost, offset),
            by: { tool: nameOf(tool), part, turns: use.turns ?? 1 }
          }
        ]
  )

const approvalOf = (run_id: RunId, event: Question, at: number): RequestedApproval => ({
  ...Struct.pick(event, [
    "call",
    "payload",
    "tool_key",
    "arguments",
    "digest",
    "shown_digest",
    "policy_version",
    "approvers",
    "expires_at"
  ]),
  id: event.approval,
  run_id,
  requested_at: at,
  ...(event._tag === "ClientRequested" ? { client: event.client } : undefined),
  status: "pending"
})

/** What the events so far project. Made with the first event that projects anything. */
interface Draft {
  readonly requested: Array<RequestedApproval>
  readonly answered: Array<ApprovalChange>
  task: Projection["task"]
  answer: AnswerMessage | undefined
  readonly costs: Array<CostEntry>
  readonly unknown: Array<Projection["unknown"][number]>
  readonly known: Array<CallId>
}

const empty = (): Draft => ({
  requested: [],
  answered: [],
  task: undefined,
  answer: undefined,
  costs: [],
  unknown: [],
  known: []
})

const nothing: Projection = empty()

type Lists = Omit<Draft, "task" | "answer">

const added = <Name extends keyof Lists>(
  before: Draft | undefined,
  name: Name,
  ...items: Lists[Name]
): Draft => {
  const draft = before ?? empty()
  ;(draft[name] as Array<unknown>).push(...items)
  return draft
}

/** The result of a call, or that its outcome is unknown. */
const withResult = (
  before: Draft | undefined,
  event: Extract<RunEvent, { readonly _tag: "CallSettled" | "CallUnknown" }>,
  offset: number
): Draft | undefined => {
  let draft = before
  // An unknown call leaves the list when an operator settles it (`by`), or when its run ends with the call still unknown.
  if (event._tag === "CallUnknown") {
    draft = added(draft, "unknown", { call: event.call, tool: event.tool ?? "" })
  } else if (event.by !== undefined || event.outcome._tag === "Unknown") {
    draft = added(draft, "known", event.call)
  }
  return event.spent === undefined
    ? draft
    : added(draft, "costs", ...spentEntries(event.spent, offset))
}

const withEnd = (draft: Draft, event: RunEnded): Draft => {
  const { reason, status } = event
  draft.task = status === "complete" ? { status } : { status: "failed", reason }
  draft.answer = answerOf(event)
  return draft
}

/** The projections with those of one more event, which is at `offset` in its append. */
const withEvent = (
  draft: Draft | undefined,
  run: RunId,
  event: RunEvent,
  offset: number,
  at: number
): Draft | undefined => {
  switch (event._tag) {
    case "ModelTurned":
    case "Compacted":
      return event.cost === undefined
        ? draft
        : added(draft, "costs", costEntry(event, event.cost, offset))
    case "CallReopened":
      return added(draft, "known", event.call)
    case "CallSettled":
    case "CallUnknown":
      return withResult(draft, event, offset)
    case "RunClaimed":
      return Object.assign(draft ?? empty(), { task: { status: "processing" } })
    case "ApprovalRequested":
    case "ClientRequested":
      return added(draft, "requested", approvalOf(run, event, at))
    case "ApprovalDecided": {
      const { approval: id, by, decision, via } = event
      return added(draft, "answered", { id, status: "decided", decision, by, ...defined({ via }) })
    }
    case "ApprovalClosed": {
      const { approval: id, by, how, via } = event
      const status = how === "answered" ? "decided" : how
      return added(draft, "answered", { id, status, ...defined({ by, via }) })
    }
    case "RunEnded":
      return withEnd(draft ?? empty(), event)
    default:
      return draft
  }
}

/**
 * The projections of events appended at `at` (ms since 1970). One shared value for an append that has none, as that of most
 * steps (bench row `step`).
 */
export const project = (run: RunId, events: ReadonlyArray<RunEvent>, at: number): Projection => {
  let draft: Draft | undefined
  let offset = 0
  for (const event of events) draft = withEvent(draft, run, event, offset++, at)
  return draft ?? nothing
}

const isOpen = (state: RunState, id: ApprovalId): boolean =>
  openQuestions(state).some(({ approval }) => approval === id) ||
  state.open.some(({ phase }) => phase._tag === "AwaitingApproval" && phase.request.approval === id)

/** In the order in which they were requested. `state` is the fold of all of `entries`. */
export const restoredRecords = (
  run: { readonly run_id: RunId; readonly tenant: Tenant },
  entries: ReadonlyArray<JournalEntry>,
  state: RunState
): ReadonlyArray<Approval> =>
  entries.flatMap(({ at, event }) =>
    (event._tag === "ApprovalRequested" || event._tag === "ClientRequested") &&
    isOpen(state, event.approval)
      ? project(run.run_id, [event], at).requested.map((request) => ({
          ...request,
          tenant: run.tenant
        }))
      : []
  )
