/** What holds of a run at every moment, recounted from its events and calls. */
import { assert } from "@effect/vitest"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { CallPhase, FrameState, RunState } from "../../src/run/RunState.ts"
import { evolve, fold } from "../../src/run/RunFold.ts"
import { frameDepth, frameOpenedBy, rootFrame } from "../../src/value/Ids.ts"
import { breachOf, callsUsed, maxOf } from "../../src/run/RunBreach.ts"
import { empty_text } from "../../src/run/RunGuard.ts"
import type { Play } from "./Interleaving.ts"
import { delegationsOf } from "./Interleaving.ts"

const count = (events: ReadonlyArray<RunEvent>, tag: RunEvent["_tag"]): number =>
  events.filter((event) => event._tag === tag).length

/** The counters of a state equal a recount of its calls and frames. */
export const assertCounters = (state: RunState): void => {
  const calls = [...state.calls.values()]
  const inPhase = (tag: string) => calls.filter((call) => call.phase._tag === tag).length
  const questions = state.question === undefined ? 0 : 1
  assert.strictEqual(state.awaiting, inPhase("AwaitingApproval") + questions)
  assert.strictEqual(state.unknown, inPhase("Unknown"))
  assert.strictEqual(state.open.length, calls.length - inPhase("Settled"))
  for (const call of state.open) {
    assert.notStrictEqual(call.phase._tag, "Settled")
    assert.strictEqual(state.calls.get(call.id), call)
  }
  for (const frame of state.frames.values()) {
    const waiting = frame.calls.filter((id) => state.open.some((call) => call.id === id)).length
    assert.strictEqual(frame.waiting, waiting)
  }
  if (state.ended === undefined) {
    assert.isTrue(state.openFrames.some((frame) => frame.id === rootFrame))
    assert.strictEqual(state.openFrames.length, 1 + inPhase("Delegated"))
  } else {
    assert.strictEqual(state.open.length, 0)
    assert.isUndefined(state.question)
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
  assert.strictEqual(settled.size, state.calls.size - state.open.length)
  assert.strictEqual(state.length, events.length)
}

const assertTranscript = (frame: FrameState): void => {
  const [first, ...entries] = frame.transcript
  assert.strictEqual(first?.role, "user")
  let step = 0
  for (let i = 0; i < entries.length; step++) {
    const turn = entries[i++]!
    // An empty turn is not in the transcript; a note on it is.
    if (turn.role === "user" && turn.text === empty_text) continue
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
  const limits = state.accepted.limits
  const turns = events.filter((event) => event._tag === "ModelTurned")
  assert.strictEqual(state.steps, turns.length)
  const steps = maxOf(state, "steps_max")
  assert.isAtMost(state.steps, steps + (limits.on_breach === "answer" ? 1 : 0))
  for (const turn of turns.slice(steps)) {
    assert.strictEqual(turn.calls.length, 0)
    assert.strictEqual(turn.frame, rootFrame)
  }
  const asked = events.filter((event) => event._tag === "ApprovalRequested")
  const about = asked.filter(({ limit }) => limit !== undefined)
  assert.strictEqual(state.questions, asked.length - about.length)
  if (limits.on_breach !== "ask") assert.strictEqual(about.length, 0)
  for (const limit of new Set(about.map((question) => question.limit!))) {
    const times = about.filter((question) => question.limit === limit).length
    assert.isAtMost(times, limits.extensions_max)
  }
  for (const frame of state.frames.keys()) assert.isAtMost(frameDepth(frame), limits.depth_max)
  assert.isAtMost(state.questions, limits.questions_max)
  assert.isAtMost(state.dispatches, limits.writes_max)
  for (const opened of delegationsOf(play).values()) {
    assert.isAtMost(opened, limits.delegations_per_turn_max)
  }
  const used = [...state.calls.values()].filter(
    ({ id, phase }) =>
      state.frames.has(frameOpenedBy(id)) ||
      phase._tag !== "Settled" ||
      phase.outcome._tag !== "Failed" ||
      phase.outcome.error.reason !== "CALLS_MAX"
  )
  assert.isAtMost(used.length, maxOf(state, "calls_max"))
  assert.strictEqual(used.length, callsUsed(state))
}

/** What may come once a run stops. */
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
      return phase._tag === "AwaitingApproval" && phase.request.approval === event.approval
    case "CallDispatched":
      return (
        event.epoch === state.epoch &&
        (mayStart(phase) ||
          (phase._tag === "Dispatched" &&
            (phase.on_loss === "ask"
              ? event.over_at! > phase.over_at!
              : phase.epoch < event.epoch && phase.on_loss === "again")))
      )
    case "CallUnknown":
      return phase._tag === "Dispatched"
    case "CallReopened":
      return phase._tag === "Unknown"
    case "CallSettled":
      if (sent && did_not_run.has(event.outcome._tag)) return false
      // A dispatch of an older owner has its result from its tool, which was asked, or from an operator.
      if (phase._tag === "Dispatched" && phase.epoch < state.epoch && phase.on_loss !== "ask") {
        return (
          event.outcome._tag === "Unknown" || (phase.on_loss === "again" && event.by !== undefined)
        )
      }
      if (phase._tag === "Delegated") return state.frames.get(phase.frame)!.waiting === 0
      return phase._tag === "Unknown"
        ? event.by !== undefined || event.outcome._tag === "Unknown"
        : phase._tag !== "AwaitingApproval" && phase._tag !== "Settled"
    default:
      return true
  }
}

/**
 * Every event fits the state before it: a question is answered before its call moves; a dispatch is repeated only by a new owner
 * or after its tool was asked, and only where that was declared; only an operator settles an unknown call; a dispatched call never
 * ends as one that did not run; a delegation ends after the calls of its frame; a run that stops starts nothing.
 */
export const assertFacts = ({ events }: Play): void => {
  const state = fold(events.slice(0, 1))
  const sent = new Set<string>()
  for (const event of events.slice(1)) {
    if (state.stopping !== undefined) assert.isTrue(stopped.has(event._tag), event._tag)
    if (event._tag === "ModelTurned") {
      const frame = state.frames.get(event.frame)!
      assert.isTrue(state.openFrames.includes(frame) && frame.waiting === 0)
      assert.strictEqual(event.step, frame.step + 1)
      assert.isUndefined(frame.answer)
    }
    const question = "approval" in event ? state.question?.approval : undefined
    if (event._tag === "ApprovalRequested" && event.limit !== undefined) {
      assert.isUndefined(state.question)
      assert.strictEqual(breachOf(state)?.limit, event.limit)
    } else if (question !== undefined && "approval" in event && event.approval === question) {
      assert.include(["ApprovalDecided", "ApprovalClosed"], event._tag)
    } else if ("call" in event) {
      const { phase } = state.calls.get(event.call)!
      const fit = fits(state, event, phase, sent.has(event.call))
      assert.isTrue(fit, `${event._tag} of a call that is ${phase._tag}`)
      if (event._tag === "CallDispatched") sent.add(event.call)
      if (event._tag === "CallReopened") sent.delete(event.call)
    }
    evolve(state, event)
  }
}
