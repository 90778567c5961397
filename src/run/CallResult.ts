/**
 * The results of calls: as the state of a run keeps them, which is what its model is shown, and those that no tool gave. A long
 * result is whole in the journal only, so that the memory of a run does not grow with what its tools return.
 */
import { Option, Schema } from "effect"
import type { TranscriptEntry } from "../conversation/Transcript.ts"
import { isLong, modelCopy } from "../conversation/Transcript.ts"
import type { CallSettled, RunEvent, Outcome } from "./RunEvent.ts"
import type { CallPhase, CallState } from "./RunState.ts"
import { failureOf, ToolPolicyError } from "../error/ToolError.ts"
import type { CallId } from "../value/Ids.ts"

export const callSettled = (call: CallId, outcome: Outcome): RunEvent => ({
  _tag: "CallSettled",
  call,
  outcome
})

export const policyFailure = (reason: string, message: string): Outcome => ({
  _tag: "Failed",
  error: failureOf(new ToolPolicyError({ kind: "permission", reason, message }))
})

type Settled = Extract<CallPhase, { readonly _tag: "Settled" }>

/** The result of a call that stops its loop stays whole, because it is the answer. */
export const settledPhase = (event: CallSettled): Settled => {
  const { files, repeats } = event
  if (files === undefined && repeats === undefined) return plainPhase(event)
  return {
    ...plainPhase(event),
    ...(files === undefined ? undefined : { files }),
    ...(repeats === undefined ? undefined : { repeats })
  }
}

/** The model's copy in place of a long result, in an event that is read only to be folded. */
class CopiedValue {
  readonly _tag = "Value"
  readonly json: string
  constructor(json: string) {
    this.json = json
  }
}

/**
 * The event with as much of its result as the fold keeps: the same object, unless that is a long one. Not for watchers, who get what
 * is in the journal.
 */
export const withCopiedResult = (event: RunEvent): RunEvent => {
  if (event._tag !== "CallSettled" || event.stop === true || !isLong(event.outcome)) return event
  const copy = modelCopy(event.outcome, event.texts === true)
  return copy._tag === "Value" ? { ...event, outcome: new CopiedValue(copy.json) } : event
}

export const hasCopiedResult = (event: RunEvent): boolean =>
  event._tag === "CallSettled" && event.outcome instanceof CopiedValue

const plainPhase = ({ outcome, stop, texts }: CallSettled): Settled => {
  if (outcome instanceof CopiedValue) return { _tag: "Settled", outcome, copy: true }
  if (stop !== true && isLong(outcome)) {
    return { _tag: "Settled", outcome: modelCopy(outcome, texts === true), copy: true }
  }
  if (stop === undefined && texts === undefined) return { _tag: "Settled", outcome }
  return {
    _tag: "Settled",
    outcome,
    ...(stop === undefined ? undefined : { stop }),
    ...(texts === undefined ? undefined : { texts })
  }
}

export const resultEntry = (
  call: CallState,
  { copy, files, outcome, repeats, texts }: Settled
): TranscriptEntry => {
  const { id, proposed } = call
  const { model_id, name } = proposed
  const shown = copy === true ? outcome : modelCopy(outcome, texts === true)
  // The usual result, as one literal: a spread of absent members costs more (bench row `step`).
  if (
    shown === outcome &&
    copy === undefined &&
    call.modified === undefined &&
    files === undefined &&
    repeats === undefined
  ) {
    return { role: "tool", call: id, model_id, name, outcome }
  }
  return {
    role: "tool",
    call: id,
    model_id,
    name,
    outcome: shown,
    ...(call.modified === undefined ? undefined : { modified: call.modified }),
    ...(copy === true || shown !== outcome ? { copy: true } : undefined),
    ...(files === undefined ? undefined : { files }),
    ...(repeats === undefined ? undefined : { repeats })
  }
}

const decodeText = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.String))

/** A call's value as an answer: a text as it is, anything else as JSON. */
export const answerText = (json: string): string =>
  // What fails to decode costs as much as a guard's verdict (bench row `send`).
  json.trimStart().startsWith('"') ? Option.getOrElse(decodeText(json), () => json) : json
