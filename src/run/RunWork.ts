/**
 * What has to be in flight, as a function of the state. The loop starts what is wanted and not in flight, and interrupts what is
 * in flight and not wanted, so that recovery, cancels and decisions by others are no special cases.
 */
import type { CallId, FrameId } from "../value/Ids.ts"
import { rootFrame, stepKey } from "../value/Ids.ts"
import { appended } from "../value/ShortList.ts"
import { canStart } from "./RunDecider.ts"
import type { Breach } from "./RunBreach.ts"
import { breachOf, hasRoom, lastStep, limitPlace, onBreach } from "./RunBreach.ts"
import type { LimitName } from "./RunLimits.ts"
import type { RunState } from "./RunState.ts"

/** A model turn of a frame. */
export interface CallModel {
  readonly _tag: "CallModel"
  /** Identifies the work among what is in flight. */
  readonly key: string
  readonly frame: FrameId
  readonly step: number
  /** False in the last turn after a breach with `answer`. */
  readonly tools: boolean
  /** False for a turn that no limit leaves room for: it goes on if it is in flight, and is not started. */
  readonly start: boolean
}

/** A call: the gate, then its body. */
export interface RunCall {
  readonly _tag: "RunCall"
  readonly key: string
  readonly call: CallId
  /** False for a dispatch of this epoch: it goes on if it is in flight, and is not started. */
  readonly start: boolean
}

/** A question to a person: may the run go on beyond a limit? */
export interface LimitApprovalWork {
  readonly _tag: "RequestLimitApproval"
  readonly key: string
  readonly limit: LimitName
}

export type Work = CallModel | RunCall | LimitApprovalWork

/** All wanted work. Looks at open frames and calls only, so its cost does not grow with the run (bench row `history`). */
export const wantedWork = (state: RunState): ReadonlyArray<Work> => {
  if (state.ended !== undefined) return no_work
  let wanted: Array<Work> = no_work
  if (state.stopping === undefined) {
    // `ahead` counts the turns of frames before this one, so that two frames never both take the last turn.
    let ahead = 0
    let reached: Breach | undefined
    for (const frame of state.openFrames) {
      const { id } = frame
      if (frame.waiting > 0 || frame.answer !== undefined) continue
      if (ahead === 0) reached = breachOf(state)
      const last = reached !== undefined && state.accepted.limits.on_breach === "answer"
      if (state.steps + ahead >= lastStep(state, id === rootFrame)) continue
      const step = frame.step + 1
      wanted = appended(wanted, {
        _tag: "CallModel",
        // The turn without tools is a piece of work of its own: it takes the place of the turn with tools.
        key: last ? `${stepKey(id, step)}/answer` : stepKey(id, step),
        frame: id,
        step,
        tools: !last,
        start: reached === undefined ? ahead === 0 || hasRoom(state, ahead) : last
      })
      ahead++
    }
    const limit = limitApproval(state)
    if (limit !== undefined) wanted = appended(wanted, limit)
  }
  return wantedCalls(state, wanted)
}

/** The calls among the wanted work, appended to `before`. */
export const wantedCalls = (
  state: RunState,
  before: Array<Work> = no_work
): ReadonlyArray<Work> => {
  let wanted = before
  for (const { id, phase } of state.open) {
    switch (phase._tag) {
      case "Proposed":
      case "Decided":
        // A call in phase AwaitingApproval is no work: it waits in the state alone.
        if (state.stopping === undefined) {
          wanted = appended<Work>(wanted, { _tag: "RunCall", key: id, call: id, start: true })
        }
        break
      case "Dispatched":
        // A call of this epoch is in flight. One of an older epoch is sent again with its key, or reconciled if its tool
        // declares that.
        wanted = appended(wanted, {
          _tag: "RunCall",
          key: id,
          call: id,
          start: state.stopping === undefined && canStart(state, phase)
        })
        break
      default:
        break
    }
  }
  return wanted
}

/** The approval that must be requested before any frame has another turn, if a frame waits for one. */
const limitApproval = (state: RunState): LimitApprovalWork | undefined => {
  if (state.accepted.limits.on_breach !== "ask" || state.question !== undefined) return undefined
  const reached = breachOf(state)
  if (reached === undefined || onBreach(state, reached.limit) !== "ask") return undefined
  for (const frame of state.openFrames) {
    if (frame.waiting > 0 || frame.answer !== undefined) continue
    return {
      _tag: "RequestLimitApproval",
      key: limitPlace(state, reached.limit),
      limit: reached.limit
    }
  }
  return undefined
}

const no_work: Array<Work> = []
