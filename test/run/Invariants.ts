/** What holds of a run at every moment, recounted from its events and calls. */
import { assert } from "@effect/vitest"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { CallPhase, FrameState, RunState } from "../../src/run/RunState.ts"
import { evolve, make } from "../../src/run/RunState.ts"
import { rootFrame } from "../../src/Ids.ts"
import type { Play } from "./Interleaving.ts"
import { delegationsOf } from "./Interleaving.ts"

const count = (events: ReadonlyArray<RunEvent>, tag: RunEvent["_tag"]): number =>
  events.filter((event) => event._tag === tag).length

/** The counters of a state equal a recount of its calls and frames. */
export const assertCounters = (state: RunState): void => {
  const calls = [...state.calls.values()]
  const inPhase = (tag: string) => calls.filter((call) => call.phase._tag === tag).length
  assert.strictEqual(state.asking, inPhase("Asking"))
  assert.strictEqual(state.unknown, inPhase("Unknown"))
  assert.strictEqual(state.open.size, calls.length - inPhase("Settled"))
  for (const id of state.open) assert.notStrictEqual(state.calls.get(id)!.phase._tag, "Settled")
  for (const frame of state.frames.values()) {
    const waiting = frame.calls.filter((id) => state.open.has(id)).length
    assert.strictEqual(frame.waiting, waiting)
  }
  if (state.ended === undefined) {
    assert.isTrue(state.openFrames.has(rootFrame))
    assert.strictEqual(state.openFrames.size, 1 + inPhase("Delegated"))
  } else {
    assert.strictEqual(state.open.size, 0)
  }
}

/** At most one end with nothing after it, at most one result a call, and no result of a call that was never made. */
export const assertOrder = ({ events, state }: Play): void => {
  const ended = events.findIndex((event) => event._tag === "RunEnded")
  if (ended !== -1) assert.strictEqual(ended, events.length - 1)
  assert.isAtMost(count(events, "RunStopping"), 1)
  const settled = new Set<string>()
  for (const event of events) {
    if (event._tag !== "CallSettled") continue
    assert.isTrue(state.calls.has(event.call))
    assert.isFalse(settled.has(event.call), `${event.call} is settled twice`)
    settled.add(event.call)
  }
  assert.strictEqual(settled.size, state.calls.size - state.open.size)
  assert.strictEqual(state.length, events.length)
}

const assertTranscript = (frame: FrameState): void => {
  const [first, ...entries] = frame.transcript
  assert.strictEqual(first?.role, "user")
  let step = 0
  for (let i = 0; i < entries.length; step++) {
    const turn = entries[i++]!
    if (turn.role !== "assistant") return assert.fail(`${turn.role} where a turn belongs`)
    const results = turn.calls.map((_, index) => `${frame.id}/${step + 1}.${index}`)
    const running = step + 1 === frame.step && frame.waiting > 0
    const next = entries.slice(i, running ? i : i + results.length)
    assert.deepStrictEqual(
      next.map((entry) => (entry.role === "tool" ? (entry.call as string) : entry.role)),
      running ? [] : results
    )
    i += next.length
  }
  assert.strictEqual(step, frame.step)
  assert.isFalse(frame.answer !== undefined && frame.waiting > 0)
}

/** Each turn is followed by exactly its results, in the model's order, once all of them are there. */
export const assertTranscripts = (state: RunState): void => {
  for (const frame of state.frames.values()) assertTranscript(frame)
}

/** The bounds of the run's limits hold. */
export const assertLimits = (play: Play): void => {
  const { events, state } = play
  const limits = state.accepted!.limits
  const turns = events.filter((event) => event._tag === "ModelTurned")
  assert.strictEqual(state.steps, turns.length)
  assert.isAtMost(state.steps, limits.steps_max + (limits.on_breach === "answer" ? 1 : 0))
  for (const turn of turns.slice(limits.steps_max)) {
    assert.strictEqual(turn.calls.length, 0)
    assert.strictEqual(turn.frame, rootFrame)
  }
  assert.strictEqual(state.questions, count(events, "ApprovalRequested"))
  assert.isAtMost(state.questions, limits.questions_max)
  assert.isAtMost(state.dispatches, limits.writes_max)
  for (const opened of delegationsOf(play).values()) {
    assert.isAtMost(opened, limits.delegations_per_turn_max)
  }
  const used = [...state.calls.values()].filter(
    ({ phase }) =>
      phase._tag !== "Settled" ||
      phase.outcome._tag !== "Failed" ||
      phase.outcome.error.reason !== "CALLS_MAX"
  )
  assert.isAtMost(used.length, limits.calls_max)
}

const stopped = new Set<RunEvent["_tag"]>([
  "RunClaimed",
  "ApprovalClosed",
  "CallUnknown",
  "CallSettled",
  "RunEnded"
])
/** Results that say that the call did not run. */
const did_not_run = new Set(["Denied", "Revised", "Expired", "Cancelled"])

const mayStart = (phase: CallPhase): boolean =>
  phase._tag === "Proposed" || phase._tag === "Decided"

/** May this happen to a call in this phase? */
const fits = (state: RunState, event: RunEvent, phase: CallPhase, sent: boolean): boolean => {
  switch (event._tag) {
    case "FrameOpened":
    case "ApprovalRequested":
      return mayStart(phase)
    case "ApprovalDecided":
    case "ApprovalClosed":
      return phase._tag === "Asking" && phase.request.approval === event.approval
    case "CallDispatched":
      return (
        event.epoch === state.epoch &&
        (mayStart(phase) ||
          (phase._tag === "Dispatched" && phase.epoch < event.epoch && phase.on_loss === "again"))
      )
    case "CallUnknown":
      return phase._tag === "Dispatched"
    case "CallReopened":
      return phase._tag === "Unknown"
    case "CallSettled":
      if (sent && did_not_run.has(event.outcome._tag)) return false
      if (phase._tag === "Delegated") return state.frames.get(phase.frame)!.waiting === 0
      return phase._tag === "Unknown"
        ? event.by !== undefined || event.outcome._tag === "Unknown"
        : phase._tag !== "Asking" && phase._tag !== "Settled"
    default:
      return true
  }
}

/**
 * Every event fits the state before it: a question is answered before its call moves, a dispatch is repeated only by a
 * new owner and only where that was declared, nobody but an operator settles an unknown call, a call that was sent
 * never ends as one that did not run, a delegation ends after the calls of its frame, and a run that stops starts nothing.
 */
export const assertFacts = ({ events }: Play): void => {
  const state = make()
  const sent = new Set<string>()
  for (const event of events) {
    if (state.stopping !== undefined) assert.isTrue(stopped.has(event._tag), event._tag)
    if (event._tag === "ModelTurned") {
      const frame = state.frames.get(event.frame)!
      assert.isTrue(state.openFrames.has(event.frame) && frame.waiting === 0)
      assert.strictEqual(event.step, frame.step + 1)
      assert.isUndefined(frame.answer)
    }
    if ("call" in event) {
      const { phase } = state.calls.get(event.call)!
      const fit = fits(state, event, phase, sent.has(event.call))
      assert.isTrue(fit, `${event._tag} of a call that is ${phase._tag}`)
      if (event._tag === "CallDispatched") sent.add(event.call)
      if (event._tag === "CallReopened") sent.delete(event.call)
    }
    evolve(state, event)
  }
}
