/**
 * The first difference between a replay and its recording.
 */
import type { Json } from "../value/Canonical.ts"
import type { RunEvent } from "../run/RunEvent.ts"

export interface Divergence {
  /** The `seq` of the recorded event; undefined if the replay did something that is not in the recording. */
  readonly seq: number | undefined
  /** The step as `frame/step`; undefined if the event belongs to no step. */
  readonly step: string | undefined
  readonly call: string | undefined
  /** A sentence that describes the difference. */
  readonly what: string
  /** What was recorded; null = nothing. */
  readonly expected: Json
  /** What the replay has instead; null = nothing. */
  readonly got: Json
}

interface EventPosition {
  readonly step: string | undefined
  readonly call: string | undefined
}

/** The step of a call, `0/3` of `0/3.1`. */
export const stepOfCall = (call: string): string | undefined => /^(.*\/\d+)\.\d+$/.exec(call)?.[1]

/** Where in a run an event belongs. */
export const positionOf = (event: RunEvent): EventPosition => {
  if (event._tag === "ModelTurned" || event._tag === "Compacted") {
    return { step: `${event.frame}/${event.step}`, call: undefined }
  }
  return "call" in event
    ? { step: stepOfCall(event.call), call: event.call }
    : { step: undefined, call: undefined }
}
