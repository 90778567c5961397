/**
 * A call's result as a run in memory keeps it: what its model is shown. A long one is whole in the journal only, so that
 * what a run holds does not grow with what its tools return.
 */
import type { TranscriptEntry } from "../conversation/Transcript.ts"
import { modelCopy } from "../conversation/Transcript.ts"
import type { Outcome } from "./RunEvent.ts"
import type { CallPhase, CallState } from "./RunState.ts"

type Settled = Extract<CallPhase, { readonly _tag: "Settled" }>

/** The result of a call that stops its loop stays whole: it is the answer. */
export const settledPhase = (outcome: Outcome, stop: true | undefined): Settled => {
  if (stop === true) return { _tag: "Settled", outcome, stop }
  const shown = modelCopy(outcome)
  return shown === outcome
    ? { _tag: "Settled", outcome }
    : { _tag: "Settled", outcome: shown, copy: true }
}

export const resultEntry = (call: CallState, { copy, outcome }: Settled): TranscriptEntry => ({
  role: "tool",
  call: call.id,
  model_id: call.proposed.model_id,
  name: call.proposed.name,
  outcome,
  ...(call.modified === undefined ? undefined : { modified: call.modified }),
  ...(copy === true ? { copy } : undefined)
})

/** A value as an answer: a text as it is, anything else as JSON. */
export const answerOf = (json: string): string => {
  const value: unknown = JSON.parse(json)
  return typeof value === "string" ? value : json
}
