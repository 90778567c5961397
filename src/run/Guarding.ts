/**
 * What the verdicts of guards do to a run: a changed text takes the place of the one that was judged, a refused message or answer
 * ends its frame, and a refused result is withheld from the model. A verdict of a guard that only observes does nothing.
 */
import { Result } from "effect"
import type { TranscriptEntry } from "../conversation/Transcript.ts"
import { modelCopy } from "../conversation/Transcript.ts"
import type { Decision } from "../approval/Approval.ts"
import { isFile } from "../conversation/Part.ts"
import { defined } from "../value/PlainObject.ts"
import type { ApprovalId } from "../value/Ids.ts"
import { answerText, policyFailure } from "./CallResult.ts"
import type { Guarded, GuardedPlace } from "./GuardVerdict.ts"
import { guard_failed, isRefusal } from "./GuardVerdict.ts"
import type { ApprovalRequested, ModelTurned, Outcome } from "./RunEvent.ts"
import type { FrameState, RunState } from "./RunState.ts"
import { frameOf } from "./RunState.ts"

const judgedKey = ({ call, frame, on }: GuardedPlace, guard: string): string =>
  `${guard} ${on} ${frame} ${call ?? ""}`

/** Stands for all guards: a text that one of them refused is not judged again. */
const all_guards = "*"

/** Has the guard judged this message or result, or another one refused it? */
export const isJudged = ({ judged }: FrameState, place: GuardedPlace, guard: string): boolean =>
  judged !== undefined &&
  (judged.has(judgedKey(place, guard)) || judged.has(judgedKey(place, all_guards)))

/** What is told of a refusal: the guard's reason, or that it could not judge. */
export const toldOf = ({ reason = "" }: Guarded): string =>
  reason === guard_failed
    ? `This could not be checked, so it was refused (${guard_failed}).`
    : reason || "This was refused."

/** For operators. */
export const refusalText = ({ guard, on, reason = "" }: Guarded): string =>
  reason === guard_failed
    ? `the guard "${guard}" failed to judge the ${on} in time, which refuses it`
    : `the guard "${guard}" refused the ${on}: ${reason}`

/** What a guard is shown of an entry of the transcript; undefined = nothing of it came from outside, or it has no text. */
export const guardedTextOf = (entry: TranscriptEntry): string | undefined => {
  switch (entry.role) {
    case "assistant":
      return undefined
    case "user": {
      const texts = [
        entry.text,
        ...(entry.parts ?? []).flatMap((part) => (isFile(part) ? [] : [part.text]))
      ]
      return texts.filter((text) => text !== "").join("\n\n") || undefined
    }
    case "tool": {
      const { outcome } = entry
      if (outcome._tag === "Value") return answerText(outcome.json)
      return outcome._tag === "Failed" ? outcome.error.message || undefined : undefined
    }
  }
}

/** The outcome with another text: a text in place of a text, JSON in place of JSON where it still is JSON. */
const changedOutcome = (outcome: Outcome, text: string): Outcome => {
  if (outcome._tag === "Failed")
    return { _tag: "Failed", error: { ...outcome.error, message: text } }
  if (outcome._tag !== "Value") return outcome
  const isJson =
    !outcome.json.startsWith('"') && Result.isSuccess(Result.try(() => JSON.parse(text)))
  const json = isJson ? text : JSON.stringify(text)
  return modelCopy({ _tag: "Value", json }, false)
}

const changedEntry = (entry: TranscriptEntry, event: Guarded): TranscriptEntry => {
  const { guard, reason = "", text, verdict } = event
  if (entry.role === "tool") {
    const message = `The guard "${guard}" withholds this result: ${reason}`
    const outcome =
      verdict === "refuse"
        ? policyFailure("GUARD_REFUSED", message)
        : changedOutcome(entry.outcome, text ?? "")
    const { files, ...rest } = entry
    return { ...rest, outcome, copy: true, ...(verdict === "refuse" ? undefined : { files }) }
  }
  if (entry.role !== "user") return entry
  if (verdict === "refuse")
    return { role: "user", text: `[runtime] The guard "${guard}" refused this message.` }
  const files = entry.parts?.filter(isFile)
  return { role: "user", text: text ?? "", ...(files === undefined ? undefined : { parts: files }) }
}

/** The place of the entry that the event is about. A frame's transcript begins with its message, however it is cut. */
const entryAt = ({ transcript }: FrameState, { call, on }: Guarded): number =>
  on === "message"
    ? 0
    : transcript.findLastIndex((entry) => entry.role === "tool" && entry.call === call)

/** Which guards judge a text, as an agent has them. */
type GuardsAt = (
  place: GuardedPlace
) => ReadonlyArray<Pick<Guarded, "mode"> & { readonly name: string }>

const placeOf = ({ id: frame, step }: FrameState, entry: TranscriptEntry, at: number) => {
  const next = { frame, step: step + 1 }
  if (entry.role === "tool")
    return { ...next, on: "result", call: entry.call, tool: entry.name } as const
  return at === 0 ? ({ ...next, on: "message" } as const) : undefined
}

/**
 * The transcript as later runs are shown it. What no turn of its own run was shown, because the run ended before, may not have been
 * judged: a text that one of these guards has to judge and did not is withheld. Undefined = there are no guards.
 */
export const judgedTranscript = (
  frame: FrameState,
  guardsAt: GuardsAt | undefined
): ReadonlyArray<TranscriptEntry> => {
  const { transcript } = frame
  const shown = transcript.findLastIndex(({ role }) => role === "assistant") + 1
  if (guardsAt === undefined || shown === transcript.length) return transcript
  return transcript.map((entry, at) => {
    const place = at < shown ? undefined : placeOf(frame, entry, at)
    if (place === undefined || guardedTextOf(entry) === undefined) return entry
    const unasked = guardsAt(place).find(
      ({ mode, name }) => mode === "enforce" && !isJudged(frame, place, name)
    )
    return unasked === undefined ? entry : unjudgedEntry(entry, unasked.name)
  })
}

const unjudgedEntry = (entry: TranscriptEntry, guard: string): TranscriptEntry => {
  const message = `The run ended before the guard "${guard}" has judged this.`
  if (entry.role !== "tool") return { role: "user", text: `[runtime] ${message}` }
  const { files: _, ...rest } = entry
  return { ...rest, outcome: policyFailure("GUARD_REFUSED", message), copy: true }
}

export const foldGuarded = (state: RunState, event: Guarded): void => {
  const frame = frameOf(state, event.frame)
  if (isRefusal(event) && event.on !== "result") frame.refused = event
  if (event.on === "answer") return
  ;(frame.judged ??= new Set()).add(judgedKey(event, isRefusal(event) ? all_guards : event.guard))
  if (event.mode === "observe" || (event.verdict !== "change" && event.verdict !== "refuse")) return
  const at = entryAt(frame, event)
  const entry = frame.transcript[at]
  // A new list, as after a compaction: what is known of the old one, such as its size, does not hold for it.
  if (entry !== undefined) frame.transcript = frame.transcript.with(at, changedEntry(entry, event))
}

type GuardQuestion = NonNullable<ApprovalRequested["guarded"]>

export const foldQuestion = (
  state: RunState,
  event: ApprovalRequested,
  { frame: id }: GuardQuestion
): void => {
  const frame = frameOf(state, id)
  frame.held = event
  frame.waiting++
  state.awaiting++
  state.questions++
}

const release = (state: RunState, frame: FrameState): void => {
  frame.held = undefined
  frame.waiting--
  state.awaiting--
}

/** The text with which a person replaces the one that guards asked about; undefined = it is none. */
export const decidedText = ({ text }: Readonly<Record<string, unknown>>): string | undefined =>
  typeof text === "string" && text.trim() !== "" ? text : undefined

/** A denial refuses the text as its guards would have, and a change takes its place. */
export const foldDecision = (
  state: RunState,
  { by: guard, call, frame, on, step }: GuardQuestion,
  decision: Decision
): void => {
  release(state, frameOf(state, frame))
  const about = {
    _tag: "Guarded",
    mode: "enforce",
    guard,
    on,
    frame,
    step,
    ...defined({ call })
  } as const
  if (decision._tag === "Deny") {
    foldGuarded(state, { ...about, verdict: "refuse", reason: "A person refused this." })
  } else if (decision._tag === "Modify") {
    foldGuarded(state, { ...about, verdict: "change", text: decidedText(decision.arguments) ?? "" })
  }
}

/** Closes a question about a text. False = it is about something else. */
export const foldClosed = (state: RunState, approval: ApprovalId): boolean => {
  const frame = state.openFrames.find(({ held }) => held?.approval === approval)
  if (frame !== undefined) release(state, frame)
  return frame !== undefined
}

type Said = Pick<
  ModelTurned,
  "calls" | "cost" | "model" | "parts" | "ran" | "reasoning" | "text" | "usage"
>

/** A turn with what is told of its refusal in its place. */
export const refusedTurn = ({ cost, model, ran, usage }: Said, text: string) => ({
  text,
  calls: [],
  finish: "stop" as const,
  ...defined({ cost, model, ran, usage })
})

/**
 * A turn with another text. Parts count the units of the text. Reasoning is about the text as it was; with calls its provider wants
 * it back.
 */
export const turnWithText = <Turn extends Said>(turn: Turn, text: string): Omit<Turn, "parts"> => {
  const { parts: _parts, reasoning, ...rest } = turn
  const keeps = turn.calls.length > 0 && reasoning !== undefined
  return (keeps ? { ...rest, reasoning, text } : { ...rest, text }) as Omit<Turn, "parts">
}
