/**
 * Folds a turn, the results of its calls and a compaction into a run's state.
 */
import type { ResultFile } from "../conversation/Part.ts"
import { isSameFile, parts_max } from "../conversation/Part.ts"
import type { CallId } from "../value/Ids.ts"
import { callId } from "../value/Ids.ts"
import { appended } from "../value/ShortList.ts"
import { answerText, resultEntry, settledPhase } from "./CallResult.ts"
import { unfitText } from "./AnswerSchema.ts"
import { callsMax, callsUsed } from "./RunBreach.ts"
import type { CallSettled, ModelTurned, ProposedCall, Compacted } from "./RunEvent.ts"
import { isCompleteFinish } from "./IncompleteTurn.ts"
import { emptyText, isMistake, mistakeOf, recount } from "./RunGuard.ts"
import type { CallPhase, CallState, RunState, FrameState } from "./RunState.ts"
import { chargeTurn, tokensOf, callOf, frameOf, handedBy } from "./RunState.ts"
import { cutTranscript } from "../conversation/Compaction.ts"

/** Folds a turn: it is its frame's answer, or has calls. With neither, the frame has another turn. */
export const foldTurn = (state: RunState, event: ModelTurned) => {
  const frame = frameOf(state, event.frame)
  state.steps++
  // Calls beyond `calls_max` are refused when they are proposed, and do not count.
  const beyond = callsUsed(state) + event.calls.length - callsMax(state)
  if (beyond > 0) state.used.calls_refused += Math.min(beyond, event.calls.length)
  if (event.ran !== undefined) state.used.provider_uses += event.ran.length
  if (event.usage !== undefined) state.tokens += tokensOf(state.used, event.usage)
  if (event.cost !== undefined) chargeTurn(state.used, event.cost)
  frame.step = event.step
  frame.waiting = event.calls.length
  frame.sources = event.sources
  frame.files = event.files
  if (event.files !== undefined) state.hasFiles = true
  frame.finish = isCompleteFinish(event.finish) ? undefined : event.finish
  if (event.empty === true) {
    // Providers refuse a prompt with an empty turn, so the transcript has only the note on it.
    state.used.mistakes++
    state.used.mistake = event.unreadable === undefined ? "an empty turn" : "an unreadable call"
    frame.calls = []
    frame.transcript.push({ role: "user", text: emptyText(event) })
    return
  }
  frame.transcript.push(
    event.reasoning === undefined && event.origin === undefined && event.files === undefined
      ? { role: "assistant", text: event.text, calls: event.calls }
      : {
          role: "assistant",
          text: event.text,
          calls: event.calls,
          ...(event.reasoning === undefined ? undefined : { reasoning: event.reasoning }),
          ...(event.parts === undefined ? undefined : { parts: event.parts }),
          ...(event.origin === undefined ? undefined : { origin: event.origin }),
          ...(event.files === undefined ? undefined : { files: event.files })
        }
  )
  if (event.unfit !== undefined) {
    frame.unfits++
    frame.calls = []
    frame.transcript.push({ role: "user", text: unfitText(event.unfit) })
    return
  }
  if (event.calls.length === 0) {
    frame.answer = event.answer ?? event.text
    frame.calls = []
    return
  }
  let ids: Array<CallId> = []
  for (const proposal of event.calls) {
    ids = appended(ids, proposed(state, event, proposal, ids.length))
  }
  frame.calls = ids
}

const proposed = (
  state: RunState,
  { frame, step }: ModelTurned,
  proposal: ProposedCall,
  index: number
): CallId => {
  const id = callId(frame, step, index)
  const call: CallState = {
    id,
    frame,
    step,
    index,
    proposed: proposal,
    arguments: proposal.arguments,
    modified: undefined,
    approved_by: undefined,
    phase: proposedPhase
  }
  state.open = appended(state.open, call)
  state.calls.set(id, call)
  return id
}

export const proposedPhase: CallPhase = { _tag: "Proposed" }

/** Moves a call to another phase, and counts the calls that wait for people. */
export const moveTo = (state: RunState, call: CallState, phase: CallPhase) => {
  if (call.phase._tag === "AwaitingApproval") state.awaiting--
  else if (call.phase._tag === "Unknown") state.unknown--
  if (phase._tag === "AwaitingApproval") state.awaiting++
  else if (phase._tag === "Unknown") state.unknown++
  call.phase = phase
}

/** Takes an item from a list; usually it is the first one, which V8 takes without moving the others (bench row `fan`). */
const close = <A>(open: Array<A>, item: A | undefined): void => {
  const at = open.indexOf(item as A)
  if (at === open.length - 1) open.pop()
  else if (at === 0) open.shift()
  else if (at > 0) open.splice(at, 1)
}

/** Keeps the files for the customer, each once. Calls at the same time may attach more than an answer has. */
const share = (state: RunState, files: ReadonlyArray<ResultFile>) => {
  for (const { for_customer, ...file } of files) {
    if (for_customer !== true) continue
    const shared = (state.shared ??= [])
    if (shared.length < parts_max && !shared.some((each) => isSameFile(each, file)))
      shared.push(file)
  }
}

/** The one result of a call. The last one ends the step. */
export const foldResult = (state: RunState, call: CallState, event: CallSettled) => {
  const { outcome } = event
  if (call.phase._tag === "Delegated") {
    close(state.openFrames, state.frames.get(call.phase.frame))
  }
  if (event.files !== undefined) {
    state.hasFiles = true
    share(state, event.files)
  }
  moveTo(state, call, settledPhase(event))
  close(state.open, call)
  recount(state, call, outcome)
  const frame = frameOf(state, call.frame)
  if (--frame.waiting > 0) return
  let mistaken = true
  // All results of a step enter the transcript together, in the model's order and not in that of their arrival.
  for (const id of frame.calls) {
    const each = id === call.id ? call : callOf(state, id)
    if (each.phase._tag !== "Settled") continue
    mistaken &&= isMistake(each.phase.outcome)
    // Where the answer has a schema, a tool's result is never the answer: only a turn is checked against the schema.
    const isAnswer = each.phase.stop === true && state.accepted.answer_schema === undefined
    if (isAnswer && each.phase.outcome._tag === "Value") {
      frame.answer ??= answerText(each.phase.outcome.json)
    }
    frame.transcript.push(resultEntry(each, each.phase))
  }
  if (frame.next !== undefined) {
    frame.handed_by = handedBy(frame)
    frame.agent = frame.next
    frame.next = undefined
    state.switches++
  }
  state.used.mistakes = mistaken ? state.used.mistakes + 1 : 0
  if (mistaken) state.used.mistake = mistakeOf(call, outcome)
}

/** A prompt is cut once before each turn, and once more where the provider still refuses it. */
export const mayCompact = (frame: FrameState, cause: Compacted["cause"]): boolean =>
  frame.compacted?.step !== frame.step + 1 ||
  (cause === "refused" && frame.compacted.cause === "bound")

export const foldCompaction = (state: RunState, event: Compacted) => {
  const frame = frameOf(state, event.frame)
  if (event.usage !== undefined) state.tokens += tokensOf(state.used, event.usage)
  if (event.cost !== undefined) chargeTurn(state.used, event.cost)
  if (event.history !== undefined) state.past = event.history
  if (event.own !== undefined) {
    frame.transcript = cutTranscript(frame.transcript, frame.step, frame.cut, event.own)
    frame.cut = event.own
  }
  frame.compacted = event
  if (event.cause === "refused") frame.tokens_refused = event.tokens_before
}
