/**
 * What commits with an event beside it: approval records, the task's status, the answer in the conversation, the cost of
 * a turn, or of what a tool's body spent. A pure function, so that every journal writes the same.
 */
import type { Approval, ApprovalStatus, Decision } from "../approval/Approval.ts"
import type { ConversationMessage } from "../conversation/Conversation.ts"
import type { TaskStatus } from "../delivery/AgentTask.ts"
import type { Spending } from "../cost/Spending.ts"
import type { TurnCost } from "../cost/TurnCost.ts"
import type { AgentName, ApprovalId, CallId, RunId, Tenant } from "../Ids.ts"
import type { RunEnded, RunEvent, Usage } from "./RunEvent.ts"

export interface ApprovalChange {
  readonly id: ApprovalId
  readonly status: Exclude<ApprovalStatus, "pending">
  readonly decision?: Decision
  readonly by?: string
}

/** A turn, or what a tool's body spent, in the ledger. Without an amount nobody knows what it cost. */
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

/** The assistant's message. Without `finish` and `sources` it is its text alone. */
export type Answer = Pick<ConversationMessage, "content" | "finish" | "reason" | "sources">

const answerOf = ({ finish, reason, sources, status, text }: RunEnded): Answer | undefined => {
  // An end that was cut, refused or filtered is told, also where there is no text.
  if (text === "" && finish === undefined) return undefined
  return {
    content: text,
    ...(finish === undefined ? undefined : { finish }),
    ...(finish === undefined || status === "complete" ? undefined : { reason }),
    ...(sources === undefined ? undefined : { sources })
  }
}

export interface Projection {
  readonly requested: ReadonlyArray<Approval>
  readonly answered: ReadonlyArray<ApprovalChange>
  /** The task's new status, when it changes. */
  readonly task: { readonly status: TaskStatus; readonly reason?: string } | undefined
  /** The assistant's message, when the run ends with one. */
  readonly answer: Answer | undefined
  /** Turns and uses of models by tools that have a cost, or that should have one. */
  readonly costs: ReadonlyArray<CostEntry>
  /** Calls whose outcome nobody knows from here on. */
  readonly unknown: ReadonlyArray<{ readonly call: CallId; readonly tool: string }>
  /** Calls that are none of those any more; whether they were is not known here. */
  readonly known: ReadonlyArray<CallId>
}

const no_costs: ReadonlyArray<CostEntry> = []
const nothing: Projection = {
  requested: [],
  answered: [],
  task: undefined,
  answer: undefined,
  costs: no_costs,
  unknown: [],
  known: []
}

const no_usage: Usage = { input_tokens: 0, output_tokens: 0 }

/** A name from outside as a database takes it: no NUL, whole characters, at most 200. */
const nameOf = (model: string): string => model.slice(0, 200).replaceAll("\0", "").toWellFormed()

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
  usage: usage ?? no_usage
})

/** What a call's body spent; with no table there is no entry. */
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

/** The projections of events appended at `at` (ms since 1970). Costs nothing for those that have none. */
export const project = (
  run: { readonly run_id: RunId; readonly tenant: Tenant },
  events: ReadonlyArray<RunEvent>,
  at: number
): Projection => {
  let requested: Array<Approval> | undefined
  let answered: Array<ApprovalChange> | undefined
  let task: Projection["task"]
  let answer: Answer | undefined
  let costs: Array<CostEntry> | undefined
  let unknown: Array<Projection["unknown"][number]> | undefined
  let known: Array<CallId> | undefined
  for (let offset = 0; offset < events.length; offset++) {
    const event = events[offset]!
    switch (event._tag) {
      case "ModelTurned":
      case "Compacted":
        if (event.cost !== undefined) (costs ??= []).push(costEntry(event, event.cost, offset))
        break
      case "CallReopened":
        ;(known ??= []).push(event.call)
        break
      case "CallSettled":
      case "CallUnknown":
        // Nobody but an operator settles an unknown call, and the end of its run, which leaves it unknown.
        if (event._tag === "CallUnknown") {
          ;(unknown ??= []).push({ call: event.call, tool: event.tool ?? "" })
        } else if (event.by !== undefined || event.outcome._tag === "Unknown") {
          ;(known ??= []).push(event.call)
        }
        if (event.spent !== undefined) (costs ??= []).push(...spentEntries(event.spent, offset))
        break
      case "RunClaimed":
        task = { status: "processing" }
        break
      case "ApprovalRequested":
        ;(requested ??= []).push({
          id: event.approval,
          tenant: run.tenant,
          run_id: run.run_id,
          call: event.call,
          payload: event.payload,
          tool_key: event.tool_key,
          arguments: event.arguments,
          digest: event.digest,
          ...(event.shown_digest === undefined ? undefined : { shown_digest: event.shown_digest }),
          policy_version: event.policy_version,
          approvers: event.approvers,
          requested_at: at,
          ...(event.expires_at === undefined ? undefined : { expires_at: event.expires_at }),
          status: "pending"
        })
        break
      case "ApprovalDecided":
        ;(answered ??= []).push({
          id: event.approval,
          status: "decided",
          decision: event.decision,
          by: event.by
        })
        break
      case "ApprovalClosed":
        ;(answered ??= []).push({
          id: event.approval,
          status: event.how,
          ...(event.by === undefined ? undefined : { by: event.by })
        })
        break
      case "RunEnded":
        task =
          event.status === "complete"
            ? { status: "complete" }
            : { status: "failed", reason: event.reason }
        answer = answerOf(event)
        break
      default:
        break
    }
  }
  return requested === undefined &&
    answered === undefined &&
    task === undefined &&
    answer === undefined &&
    costs === undefined &&
    unknown === undefined &&
    known === undefined
    ? nothing
    : {
        requested: requested ?? [],
        answered: answered ?? [],
        task,
        answer,
        costs: costs ?? no_costs,
        unknown: unknown ?? nothing.unknown,
        known: known ?? nothing.known
      }
}
