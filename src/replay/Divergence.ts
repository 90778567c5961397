/**
 * The first place at which a replay is not what was recorded.
 */
import { canonical } from "../Canonical.ts"
import type { Json } from "../Canonical.ts"
import type { RunEvent } from "../run/RunEvent.ts"

export interface Divergence {
  /** Of the recorded event; undefined where the replay did something beyond the recording. */
  readonly seq: number | undefined
  /** `frame/step`, where it belongs to one. */
  readonly step: string | undefined
  readonly call: string | undefined
  /** A sentence. */
  readonly what: string
  /** What was recorded; null = nothing. */
  readonly expected: Json
  /** What the replay made of it; null = nothing. */
  readonly got: Json
}

export interface EventPlace {
  readonly step: string | undefined
  readonly call: string | undefined
}

/** The step of a call, `0/3` of `0/3.1`. */
export const stepOfCall = (call: string): string | undefined => /^(.*\/\d+)\.\d+$/.exec(call)?.[1]

/** Where in a run an event belongs. */
export const placeOf = (event: RunEvent): EventPlace => {
  if (event._tag === "ModelTurned" || event._tag === "Compacted") {
    return { step: `${event.frame}/${event.step}`, call: undefined }
  }
  return "call" in event
    ? { step: stepOfCall(event.call), call: event.call }
    : { step: undefined, call: undefined }
}

/** Are two values the same JSON? */
export const isSameJson = (a: unknown, b: unknown): boolean =>
  a === b || canonical(a ?? null) === canonical(b ?? null)
