/**
 * The state of a run: the fold of its events. It is changed in place, because a new state per step costs more the longer the run
 * is (bench row `history`), so each has one owner.
 */
import { Schema } from "effect"
import type { Decision } from "../approval/Approval.ts"
import type { FrameCut, HistoryCut } from "../conversation/Cut.ts"
import type { FilePart } from "../conversation/Part.ts"
import type { TranscriptEntry } from "../conversation/Transcript.ts"
import type { AgentName, ApprovalId, CallId, FrameId } from "../value/Ids.ts"
import type { OnLoss } from "../tool/ToolSpec.ts"
import type {
  ApprovalRequested,
  Compacted,
  FinishReason,
  HostValues,
  MemoryRecalled,
  Outcome,
  ProposedCall,
  Question,
  Repeats,
  RunAccepted,
  RunEnded,
  RunStopping
} from "./RunEvent.ts"
import type { Source } from "./ProviderWork.ts"
import type { RunUsage } from "./RunUsage.ts"
import { emptyUsage } from "./RunUsage.ts"

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
  /** Its message, a result or a turn has files. */
  hasFiles: boolean
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
  hasFiles: false,
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
