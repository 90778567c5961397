/**
 * A run as a SemStreams loop, with SemStreams' states and its gate. `loopOf` folds a run's journal into one; the states
 * of SemStreams' own planning (`planning`, `architecting`, `reviewing`) have no counterpart in a run.
 */
import { Result, Schema } from "effect"
import type { ApprovalId } from "../value/Ids.ts"
import { isObject } from "../value/PlainObject.ts"
import type { ApprovalRequested, JournalEntry, RunEnded } from "../run/RunEvent.ts"
import { RunLimits } from "../run/RunLimits.ts"
import { evolve } from "../run/RunFold.ts"
import type { FoldState } from "../run/RunState.ts"
import * as RunStates from "../run/RunState.ts"
import { callIdOf } from "./ApprovalMessages.ts"
import { required_prefix } from "../queue/CallMessage.ts"

export const LoopState = Schema.Literals([
  "exploring",
  "planning",
  "architecting",
  "executing",
  "reviewing",
  "awaiting_approval",
  "complete",
  "failed",
  "cancelled"
])
export type LoopState = typeof LoopState.Type

const isState = Schema.is(LoopState)

const terminal: ReadonlySet<LoopState> = new Set(["complete", "failed", "cancelled"])

/**
 * The call whose approval a loop waits for. `requested_at` is in ms since 1970. `timeout_ms` 0 or absent = it waits without a
 * limit.
 */
export const PendingApproval = Schema.Struct({
  call_id: Schema.String,
  tool_name: Schema.String,
  arguments: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  reason: Schema.optionalKey(Schema.String),
  requested_at: Schema.optionalKey(Schema.Int),
  timeout_ms: Schema.optionalKey(Schema.Int),
  trace_id: Schema.optionalKey(Schema.String)
})
export interface PendingApproval extends Schema.Schema.Type<typeof PendingApproval> {}

/** `before_approval` is the state to which the loop returns after an answer; empty = no gate is open, or the state was lost. */
export const Loop = Schema.Struct({
  state: LoopState,
  before_approval: Schema.Union([LoopState, Schema.Literal("")]),
  pending: Schema.NullOr(PendingApproval),
  /** Model turns so far, over all frames. */
  iterations: Schema.Int,
  max_iterations: Schema.Int,
  /** The result of a completed loop. */
  result: Schema.optionalKey(Schema.String),
  /** Why a loop failed or was cancelled. */
  error: Schema.optionalKey(Schema.String)
})
export interface Loop extends Schema.Schema.Type<typeof Loop> {}

const max_iterations_default = 20

/**
 * The limits of a loop with at most this many model turns. Fails with a sentence if that is not a whole number from 1 to 1,000.
 */
export const limitsOf = (
  max_iterations: number = max_iterations_default
): Result.Result<RunLimits, string> => {
  if (!(max_iterations > 0)) return Result.fail("max_iterations must be greater than 0")
  return Number.isSafeInteger(max_iterations) && max_iterations <= 1_000
    ? Result.succeed(RunLimits.make({ steps_max: max_iterations }))
    : Result.fail("max_iterations must be a whole number of at most 1000")
}

/** A loop before its first turn. */
export const newLoop = ({ steps_max }: Pick<RunLimits, "steps_max">): Loop => ({
  state: "exploring",
  before_approval: "",
  pending: null,
  iterations: 0,
  max_iterations: steps_max
})

/**
 * Moves a loop to any state. Fails with a sentence if there is no such state, or if the loop has ended; an ended loop may stay in
 * its state.
 */
export const transition = (loop: Loop, to: string): Result.Result<Loop, string> => {
  if (!isState(to)) return Result.fail(`unknown loop state ${to}`)
  if (loop.state === to) return Result.succeed(loop)
  return terminal.has(loop.state)
    ? Result.fail(`cannot transition from terminal state ${loop.state}`)
    : Result.succeed({ ...loop, state: to })
}

/**
 * Opens a gate for a call. If the gate of the same call is open, it stays open with the new details; if that of another call is,
 * this fails until that call is answered. Fails with a sentence.
 */
export const beginAwaiting = (
  loop: Loop,
  pending: PendingApproval
): Result.Result<Loop, string> => {
  if (terminal.has(loop.state)) {
    return Result.fail(`cannot begin awaiting approval from terminal state ${loop.state}`)
  }
  if (loop.pending !== null && loop.pending.call_id !== pending.call_id) {
    return Result.fail(`already awaiting approval for call ${loop.pending.call_id}`)
  }
  if (pending.call_id === "") return Result.fail("call_id required")
  if (pending.tool_name === "") return Result.fail("tool_name required")
  return Result.succeed({
    ...loop,
    state: "awaiting_approval",
    before_approval: loop.state === "awaiting_approval" ? loop.before_approval : loop.state,
    pending
  })
}

/**
 * Closes the gate. The loop returns to the state before it, or to `executing` if that state was lost. Fails with a sentence if no
 * gate is open.
 */
export const resolveAwaiting = (loop: Loop): Result.Result<Loop, string> => {
  if (loop.state !== "awaiting_approval") return Result.fail("loop not awaiting approval")
  if (loop.pending === null) {
    return Result.fail("loop is awaiting approval and has no pending approval")
  }
  const before = loop.before_approval
  return Result.succeed({
    ...loop,
    state: before === "" || before === "awaiting_approval" ? "executing" : before,
    before_approval: "",
    pending: null
  })
}

/**
 * The loop after a transition, or the unchanged loop if the transition is not allowed: the journal has no event after a run's
 * end.
 */
const orSame = (loop: Loop, moved: Result.Result<Loop, string>): Loop =>
  Result.getOrElse(moved, () => loop)

const pendingOf = (run: FoldState, request: ApprovalRequested, at: number): PendingApproval => {
  const { arguments: args, expires_at, payload } = request
  const call = run.calls.get(request.call)
  return {
    // A question about a limit belongs to no call.
    call_id: call === undefined ? request.call : callIdOf(call),
    tool_name: payload.tool_name,
    ...(isObject<Schema.Json>(args) ? { arguments: args } : undefined),
    reason: `${required_prefix}${payload.effect_description}`,
    requested_at: at,
    timeout_ms: expires_at === undefined ? 0 : expires_at - at,
    trace_id: run.accepted?.trace_id ?? ""
  }
}

const endedLoop = (loop: Loop, { reason, status, text }: RunEnded): Loop => ({
  ...orSame(loop, transition(loop, status)),
  before_approval: "",
  pending: null,
  ...(status === "complete"
    ? { result: text }
    : { error: reason === "recursion_limit" ? "max iterations reached" : reason })
})

/**
 * The loop after these entries, which begin with the run's first. A SemStreams loop has one gate: if several questions wait, it
 * shows the oldest. Undefined = there are no entries.
 */
export const loopOf = (entries: Iterable<JournalEntry>): Loop | undefined => {
  const run = RunStates.emptyState()
  const gates = new Map<ApprovalId, PendingApproval>()
  let loop: Loop | undefined
  for (const { at, event } of entries) {
    evolve(run, event)
    if (event._tag === "RunAccepted") loop = newLoop(event.limits)
    if (loop === undefined) continue
    switch (event._tag) {
      case "ModelTurned":
        loop = { ...loop, iterations: run.steps }
        // Other frames may have turns while the gate is open.
        if (loop.state === "exploring") loop = orSame(loop, transition(loop, "executing"))
        break
      case "ApprovalRequested": {
        const gate = pendingOf(run, event, at)
        gates.set(event.approval, gate)
        loop = orSame(loop, beginAwaiting(loop, gate))
        break
      }
      case "ApprovalDecided":
      case "ApprovalClosed": {
        const answered = gates.get(event.approval)
        gates.delete(event.approval)
        if (loop.pending !== answered) break
        loop = orSame(loop, resolveAwaiting(loop))
        const [next] = gates.values()
        if (next !== undefined) loop = orSame(loop, beginAwaiting(loop, next))
        break
      }
      case "RunEnded":
        loop = endedLoop(loop, event)
    }
  }
  return loop
}
