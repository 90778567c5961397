/**
 * The state of a run: the fold of its events. It is changed in place, because a new state per step costs more the longer the run
 * is (bench row `history`), so each has one owner.
 */
import { Schema, BigDecimal } from "effect"
import type { Decision } from "../approval/Approval.ts"
import type { FrameCut, HistoryCut } from "../conversation/Cut.ts"
import type { FilePart } from "../conversation/Part.ts"
import type { TranscriptEntry } from "../conversation/Transcript.ts"
import type { AgentName, ApprovalId, CallId, FrameId, Address } from "../value/Ids.ts"
import type { OnLoss } from "../tool/ToolSpec.ts"
import type {
  ApprovalRequested,
  Compacted,
  FinishReason,
  HostValues,
  MemoryRecalled,
  RunBeside,
  Outcome,
  ProposedCall,
  Question,
  Repeats,
  RunAccepted,
  RunEnded,
  RunStopping
} from "./RunEvent.ts"
import type { Guarded } from "./GuardVerdict.ts"
import type { Source } from "./ProviderWork.ts"
import { parseDecimal } from "../value/Decimal.ts"
import type { Spending } from "../cost/Spending.ts"
import type { TurnCost, Usage } from "../cost/TurnCost.ts"
import type { LimitName } from "./RunLimits.ts"

export interface RunUsage {
  /** Of the largest turn so far. */
  turn_tokens_most: number
  /** Some of the tokens are an estimate, because a provider counted none. */
  tokens_estimated: boolean
  turn_cost_most: BigDecimal.BigDecimal | undefined
  /** Of the first turn that has a price; undefined before it. */
  currency: string | undefined
  cost: BigDecimal.BigDecimal | undefined
  /** Turns, also those of tools, whose cost is not known or is in another currency. */
  unpriced_turns: number
  /** Calls beyond `calls_max`. */
  calls_refused: number
  /** Uses of tools that providers ran by themselves: calls, too. */
  provider_uses: number
  /** Failures of equal calls since one succeeded, and the highest count so far. */
  failures: Map<string, number> | undefined
  repeats: number
  /** Turns in a row with nothing but mistakes of the model's own. */
  mistakes: number
  /** The last such mistake, in words for an operator, at most 300 UTF-16 units; undefined = none yet. */
  mistake: string | undefined
  /** `wall_ms_max` has passed. */
  timed_out: boolean
  /** How often people have extended a limit. */
  extended: Map<LimitName, number> | undefined
}

export const emptyUsage = (): RunUsage => ({
  turn_tokens_most: 0,
  tokens_estimated: false,
  turn_cost_most: undefined,
  currency: undefined,
  cost: undefined,
  unpriced_turns: 0,
  calls_refused: 0,
  provider_uses: 0,
  failures: undefined,
  repeats: 0,
  mistakes: 0,
  mistake: undefined,
  timed_out: false,
  extended: undefined
})

/** The tokens of a turn. */
export const tokensOf = (used: RunUsage, usage: Usage): number => {
  const tokens = usage.input_tokens + usage.output_tokens
  if (tokens > used.turn_tokens_most) used.turn_tokens_most = tokens
  if (usage.estimated === true) used.tokens_estimated = true
  return tokens
}

/** Adds a cost. Gives the amount; undefined where it is not known. */
const add = (used: RunUsage, cost: TurnCost, turns: number): BigDecimal.BigDecimal | undefined => {
  if (cost._tag === "Unpriced" || cost.currency !== (used.currency ??= cost.currency)) {
    used.unpriced_turns += turns
    return undefined
  }
  const amount = parseDecimal(cost.amount)
  used.cost = used.cost === undefined ? amount : BigDecimal.sum(used.cost, amount)
  return amount
}

export const chargeTurn = (used: RunUsage, cost: TurnCost): void => {
  const amount = add(used, cost, 1)
  if (amount === undefined) return
  if (used.turn_cost_most === undefined || BigDecimal.isGreaterThan(amount, used.turn_cost_most)) {
    used.turn_cost_most = amount
  }
}

/** Charges what a tool's body spent, and gives its tokens. It is no turn of the run, so the reserve for turns does not grow. */
export const chargeTool = (used: RunUsage, { uses }: Spending): number => {
  let tokens = 0
  for (const { cost, turns = 1, usage } of uses) {
    if (usage !== undefined) tokens += usage.input_tokens + usage.output_tokens
    if (cost !== undefined) add(used, cost, turns)
  }
  return tokens
}

/** An approval has extended a limit. */
export const extendLimit = (used: RunUsage, limit: LimitName): void => {
  const extended = (used.extended ??= new Map<LimitName, number>())
  extended.set(limit, (extended.get(limit) ?? 0) + 1)
  if (limit === "wall_ms_max") used.timed_out = false
}

export type CallPhase =
  | { readonly _tag: "Proposed" }
  | { readonly _tag: "Delegated"; readonly frame: FrameId }
  | { readonly _tag: "AwaitingApproval"; readonly request: Question }
  | {
      readonly _tag: "Decided"
      readonly approval: ApprovalId
      readonly digest: string
      /** Of the tool that the approval was requested for. */
      readonly tool_digest: string | undefined
      readonly decision: Decision
      readonly by: string
    }
  | {
      readonly _tag: "Dispatched"
      readonly key: string
      readonly epoch: number
      readonly on_loss: OnLoss
      readonly tool?: string
      readonly over_at?: number
    }
  | { readonly _tag: "Unknown" }
  /** `copy`: the outcome is the model's copy of a long result, which is whole in the journal only. */
  | {
      readonly _tag: "Settled"
      readonly outcome: Outcome
      readonly stop?: true
      readonly copy?: true
      readonly texts?: true
      readonly repeats?: Repeats
      readonly files?: ReadonlyArray<FilePart>
    }

export interface CallState {
  readonly id: CallId
  readonly frame: FrameId
  readonly step: number
  readonly index: number
  readonly proposed: ProposedCall
  /** What runs: the proposed arguments, or an operator's replacement. */
  arguments: unknown
  modified: { readonly by: string; readonly arguments: unknown } | undefined
  /** The person whose decision or authorisation let it run; stamped by the runtime only. */
  approved_by: string | undefined
  /** What its host filled in for it, which is not asked again. Absent = nothing yet. */
  filled?: HostValues
  phase: CallPhase
}

export interface FrameState {
  readonly id: FrameId
  agent: AgentName
  /** The agent that goes on with it after this turn, to which a call of the turn has handed it over. */
  next: AgentName | undefined
  /**
   * The agents that handed it over, each once, and for a specialist's frame those that had handed over its supervisor's: no
   * capability is used that one of them lacks. Undefined = none did.
   */
  handed_by: ReadonlyArray<AgentName> | undefined
  /** The last turn; 0 before the first. */
  step: number
  /** Calls of the last turn, in the model's order. */
  calls: ReadonlyArray<CallId>
  /** How many of them have no result yet. */
  waiting: number
  /** What its model is shown. Grows by appending; a compaction puts a new list in its place. */
  transcript: Array<TranscriptEntry>
  /** What the transcript leaves out. */
  cut: FrameCut | undefined
  /** The last compaction; its `step` is the turn that it made room for. */
  compacted: Compacted | undefined
  /** The last prompt that the provider found too long, in tokens; undefined = none. */
  tokens_refused: number | undefined
  /** The text of the last turn, if it had no calls. */
  answer: string | undefined
  /** Answers that did not fit the schema of answers. */
  unfits: number
  /** Which guards have judged which of its texts (`Guarding.ts`); undefined = none has. */
  judged: Set<string> | undefined
  /** The open question about one of its texts. Until a person answers it counts in `waiting`, and the frame has no turn. */
  held: ApprovalRequested | undefined
  /** The verdict that refused its message or its last turn. */
  refused: Guarded | undefined
  /** How the last turn ended, where it did not end well. */
  finish: FinishReason | undefined
  /** What the last turn refers to. */
  sources: ReadonlyArray<Source> | undefined
  /** Files of the last turn. */
  files: ReadonlyArray<FilePart> | undefined
}

export const RunStatus = Schema.Literals([
  "pending",
  "processing",
  "awaiting_approval",
  "complete",
  "failed",
  "cancelled"
])
export type RunStatus = typeof RunStatus.Type

/** The fold of a run's events so far; of none, before the run is accepted. */
export interface FoldState {
  accepted: RunAccepted | undefined
  length: number
  /** About what the state holds, in UTF-16 units (`HeldUnits.ts`). */
  units: number
  epoch: number
  /** Model turns over all frames. */
  steps: number
  /** How many approvals of calls the run has requested, answered or not; `questions_max` bounds it. Those about limits do not count. */
  questions: number
  dispatches: number
  /** How often the conversation has changed hands. */
  handoffs: number
  /** How often a frame went on with another agent. */
  switches: number
  tokens: number
  readonly used: RunUsage
  /** This run's cut of the conversation before it; undefined = none. */
  past: HistoryCut | undefined
  /** What the run was told of memory; undefined = nothing was asked. */
  recalled: MemoryRecalled | undefined
  /** What the run was told of an earlier one that it answers beside; undefined = it is no side run. */
  beside: RunBeside | undefined
  /** Its message, a result or a turn has files. */
  hasFiles: boolean
  /** Files of results that are the answer's too; undefined = none yet. */
  shared: Array<FilePart> | undefined
  /** The open question about a limit of the run: no frame has a turn until a person answers it. Undefined = none is open. */
  question: ApprovalRequested | undefined
  /** How many questions wait for a decision. While any does, or a call is unknown, the run is `awaiting_approval`. */
  awaiting: number
  unknown: number
  /**
   * Calls without a result and frames without an end, oldest first: all that `wantedWork` and `conclude` look at.
   * Lists, because they are short, and V8 rebuilds a set that is emptied and filled at each step (bench row `step`).
   */
  open: Array<CallState>
  openFrames: Array<FrameState>
  /** Proposals that a person denied, by the digest without run and call; undefined = none yet. */
  refused: Set<string> | undefined
  readonly frames: Map<FrameId, FrameState>
  readonly calls: Map<CallId, CallState>
  /** All questions, oldest first, so that a late answer differs from one to an unknown question: see `questionOf`. */
  requested: Array<Question> | undefined
  stopping: RunStopping | undefined
  ended: RunEnded | undefined
}

/** The state of an accepted run: what is decided, concluded and wanted follows from it. */
export interface RunState extends FoldState {
  accepted: RunAccepted
}

/** Before the first event. */
export const emptyState = (): FoldState => ({
  accepted: undefined,
  length: 0,
  units: 0,
  epoch: 0,
  steps: 0,
  questions: 0,
  dispatches: 0,
  handoffs: 0,
  switches: 0,
  tokens: 0,
  used: emptyUsage(),
  question: undefined,
  past: undefined,
  recalled: undefined,
  beside: undefined,
  hasFiles: false,
  shared: undefined,
  awaiting: 0,
  unknown: 0,
  open: [],
  openFrames: [],
  refused: undefined,
  frames: new Map(),
  calls: new Map(),
  requested: undefined,
  stopping: undefined,
  ended: undefined
})

/** Has the run's acceptance been folded? */
export const isAccepted = (state: FoldState): state is RunState => state.accepted !== undefined

/** The run's status as tasks and lists show it. A run that waits only for an operator is `awaiting_approval` too. */
export const statusOf = (state: FoldState): RunStatus =>
  state.ended !== undefined
    ? state.ended.status
    : state.awaiting + state.unknown > 0
      ? "awaiting_approval"
      : state.epoch === 0
        ? "pending"
        : "processing"

/** The question with this id, answered or not. Searched from the last one, which is usually the one that is answered. */
export const questionOf = (
  { requested }: Pick<FoldState, "requested">,
  id: ApprovalId
): Question | undefined => requested?.findLast(({ approval }) => approval === id)

/** The open questions that are about no call: about a limit of the run, and about texts. */
export const openQuestions = ({
  openFrames,
  question
}: Pick<FoldState, "openFrames" | "question">): ReadonlyArray<ApprovalRequested> => {
  const held = openFrames.flatMap((frame) => frame.held ?? [])
  return question === undefined ? held : [question, ...held]
}

/** Does the run wait for nothing but answers of people? Then it may leave the process. */
export const isParkable = (state: FoldState): boolean => {
  if (state.ended !== undefined || state.awaiting + state.unknown === 0) return false
  if (state.question === undefined) {
    for (const frame of state.openFrames) {
      if (frame.waiting === 0 && frame.answer === undefined) return false
    }
  }
  for (const call of state.open) {
    const tag = call.phase._tag
    if (tag !== "AwaitingApproval" && tag !== "Unknown" && tag !== "Delegated") return false
  }
  return true
}

/** The agent that a run begins with. */
export const agentOfRun = ({
  address,
  agent
}: {
  readonly address: Address
  readonly agent?: AgentName | undefined
}): AgentName => agent ?? address.agent

/** Who has handed the frame over, once the turn that it is in is over. Undefined = nobody. */
export const handedBy = ({
  agent,
  handed_by,
  next
}: Pick<FrameState, "agent" | "handed_by" | "next">): ReadonlyArray<AgentName> | undefined =>
  next === undefined ? handed_by : [...new Set([...(handed_by ?? []), agent])]

// What most lookups look for is the only open call or frame, which is found without a map (bench row `step`).

export const findCall = (
  { calls, open }: Pick<RunState, "calls" | "open">,
  id: CallId
): CallState | undefined => {
  const first = open[0]
  return first !== undefined && first.id === id ? first : calls.get(id)
}

export const findFrame = (
  { frames, openFrames }: Pick<RunState, "frames" | "openFrames">,
  id: FrameId
): FrameState | undefined => {
  const first = openFrames[0]
  return first !== undefined && first.id === id ? first : frames.get(id)
}

/** Throws a TypeError where the run has no such call: its journal does not fold, and the run goes into quarantine. */
export const callOf = (state: Pick<RunState, "calls" | "open">, id: CallId): CallState => {
  const call = findCall(state, id)
  if (call === undefined) throw new TypeError("the run has no such call")
  return call
}

/** Throws a TypeError where the run has no such frame. */
export const frameOf = (
  state: Pick<RunState, "frames" | "openFrames">,
  id: FrameId
): FrameState => {
  const frame = findFrame(state, id)
  if (frame === undefined) throw new TypeError("the run has no such frame")
  return frame
}
