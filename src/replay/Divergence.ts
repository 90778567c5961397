/**
 * The first difference between a replay and its recording.
 */
import type { Json } from "../Canonical.ts"
import type { RunEvent } from "../run/RunEvent.ts"

export interface Divergence {
  /** Of the recorded event; undefined where the replay did something beyond the recording. */
  readonly seq: number | undefined
  /** `frame/step`; undefined where the event belongs to no step. */
  readonly step: string | undefined
  readonly call: string | undefined
  /** A sentence. */
  readonly what: string
  /** What was recorded; null = nothing. */
  readonly expected: Json
  /** What the replay has in its place; null = nothing. */
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
