/**
 * What has to be running, as a function of the state. The loop starts what is wanted and not running and interrupts what
 * is running and not wanted, so that recovery, a cancel and a foreign decision are no special cases.
 */
import type { CallId, FrameId } from "../Ids.ts"
import { rootFrame } from "../Ids.ts"
import { canStart } from "./RunDecider.ts"
import type { Breach } from "./RunBreach.ts"
import { breachOf, hasRoom, lastStep, limitPlace, onBreach } from "./RunBreach.ts"
import type { LimitName } from "./RunLimits.ts"
import type { RunState } from "./RunState.ts"

/** A model turn of a frame. */
export interface AskModel {
  readonly _tag: "AskModel"
  /** Names the piece, so that what runs can be compared with what is wanted. */
  readonly key: string
  readonly frame: FrameId
  readonly step: number
  /** False in the last turn that `answer` leaves. */
  readonly tools: boolean
  /** A turn for which nothing is left keeps the fiber it has, and starts none. */
  readonly start: boolean
}

/** A call on its way through the gate. */
export interface RunCall {
  readonly _tag: "RunCall"
  readonly key: string
  readonly call: CallId
  /** A dispatch of this epoch keeps the fiber it has, and starts none. */
  readonly start: boolean
}

/** A question to a person about a bound of the run. */
export interface AskLimit {
  readonly _tag: "AskLimit"
  readonly key: string
  readonly limit: LimitName
}

export type Work = AskModel | RunCall | AskLimit

/** Everything that should be running now. Looks at open frames and calls only. */
export const wantedWork = (state: RunState): ReadonlyArray<Work> => {
  if (state.ended !== undefined) return nothing
  let wanted: Array<Work> = nothing
  if (state.stopping === undefined) {
    // Turns are reserved before they begin: two frames never share the last one.
    let ahead = 0
    let reached: Breach | undefined
    const frames = state.openFrames
    for (let i = 0; i < frames.length; i++) {
      const frame = frames[i]!
      const { id } = frame
      if (frame.waiting > 0 || frame.answer !== undefined) continue
      if (ahead === 0) reached = breachOf(state)
      const last = reached !== undefined && state.accepted.limits.on_breach === "answer"
      if (state.steps + ahead >= lastStep(state, id === rootFrame)) continue
      const step = frame.step + 1
      wanted = and(wanted, {
        _tag: "AskModel",
        // A turn that is asked for anew, without tools, is another piece.
        key: last ? `${id}/${step}/answer` : `${id}/${step}`,
        frame: id,
        step,
        tools: !last,
        start: reached === undefined ? ahead === 0 || hasRoom(state, ahead) : last
      })
      ahead++
    }
    const asking = asked(state)
    if (asking !== undefined) wanted = and(wanted, asking)
  }
  return wantedCalls(state, wanted)
}

/** The calls alone of what should be running now, after what is given. */
export const wantedCalls = (
  state: RunState,
  before: Array<Work> = nothing
): ReadonlyArray<Work> => {
  let wanted = before
  const { open } = state
  for (let i = 0; i < open.length; i++) {
    const { id, phase } = open[i]!
    switch (phase._tag) {
      case "Proposed":
      case "Decided":
        // A call that asks is no work: what is left of it in this process is its question in the state.
        if (state.stopping === undefined) {
          wanted = and(wanted, { _tag: "RunCall", key: id, call: id, start: true })
        }
        break
      case "Dispatched":
        // Of this epoch: its fiber runs. Of an older one: sent again with the same key, or asked for, if that was declared.
        wanted = and(wanted, {
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

/** What a person must be asked before any frame has another turn. */
const asked = (state: RunState): AskLimit | undefined => {
  if (state.accepted.limits.on_breach !== "ask" || state.question !== undefined) return undefined
  const reached = breachOf(state)
  if (reached === undefined || onBreach(state, reached.limit) !== "ask") return undefined
  for (const frame of state.openFrames) {
    if (frame.waiting > 0 || frame.answer !== undefined) continue
    return { _tag: "AskLimit", key: limitPlace(state, reached.limit), limit: reached.limit }
  }
  return undefined
}

const nothing: Array<Work> = []

/** The list with one more. One is made as a list of one: a push to an empty one makes room for many. */
const and = (wanted: Array<Work>, piece: Work): Array<Work> => {
  if (wanted === nothing) return [piece]
  wanted.push(piece)
  return wanted
}
