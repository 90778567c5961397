/**
 * What a model is shown of a frame: the user's texts, the model's own turns, and results in the model's order.
 */
import type { Json } from "../value/Canonical.ts"
import { isCapabilityDenied } from "../capability/Capability.ts"
import { redact } from "../error/Redaction.ts"
import { failureOf, failureTextForModel, ToolPolicyError } from "../error/ToolError.ts"
import type { CallId } from "../value/Ids.ts"
import type { Outcome, ProposedCall, Reasoning, Repeats, TurnPart } from "../run/RunEvent.ts"
import { cleanResult, sanitised_units_max, sanitiseText, sanitiseTexts } from "../tool/Sanitise.ts"
import { model_copy_bytes_max } from "../tool/ToolSpec.ts"
import type { FilePart, Part } from "./Part.ts"
import { isFile } from "./Part.ts"
import { beginningOf, truncateUnits, isBeyondBytes } from "../value/CutText.ts"

/** What a model is shown of a conversation: a message, a turn, or the result of a call. */
export type TranscriptEntry =
  | {
      /** What a person or another agent said. */
      readonly role: "user"
      /** The text of the message. */
      readonly text: string
      /** Its files and the texts between them, behind the text. Absent = none. */
      readonly parts?: ReadonlyArray<Part>
    }
  | {
      /** A turn of a model. */
      readonly role: "assistant"
      /** What the model said. */
      readonly text: string
      /** The calls that it proposed. */
      readonly calls: ReadonlyArray<ProposedCall>
      /** What goes back to its provider with the turn. Absent = nothing. */
      readonly reasoning?: ReadonlyArray<Reasoning>
      /** The order of text, reasoning and calls. Absent = reasoning, then text, then calls. */
      readonly parts?: ReadonlyArray<TurnPart>
      /** The provider and model of the turn. Absent = not known. */
      readonly origin?: string
      /** Files that the model made. Absent = none. */
      readonly files?: ReadonlyArray<FilePart>
    }
  | {
      /** The result of a call. */
      readonly role: "tool"
      /** The call. */
      readonly call: CallId
      /** The model's own id for the call. */
      readonly model_id: string
      /** The tool's name as the model called it. */
      readonly name: string
      /** How the call ended. */
      readonly outcome: Outcome
      /** The arguments with which a person replaced the model's. */
      readonly modified?:
        | {
            /** Who replaced them. */
            readonly by: string
            /** The arguments that the call ran with. */
            readonly arguments: unknown
          }
        | undefined
      /** True = `outcome` is the model's copy of the tool's outcome: cleaned, cut, or replaced by a note. */
      readonly copy?: true
      /** Files that the tool attached. Absent = none. */
      readonly files?: ReadonlyArray<FilePart> | undefined
      /** The earlier call whose result this is. */
      readonly repeats?: Repeats | undefined
    }

/** The files of an entry. */
export const filesOf = (entry: TranscriptEntry): ReadonlyArray<FilePart> =>
  (entry.role === "user" ? entry.parts?.filter(isFile) : entry.files) ?? []

/**
 * Cuts a text to at most `bytes_max` bytes of UTF-8 without splitting a character, and adds a note if it is cut. `unseen`: so many
 * units of the whole are not in the text.
 */
export const capBytes = (text: string, bytes_max: number, unseen = 0): string => {
  if (text.length * 3 <= bytes_max && unseen === 0) return text
  let bytes = 0
  let end = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    const size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
    if (bytes + size > bytes_max) break
    bytes += size
    end += character.length
  }
  const left = text.length - end + unseen
  return left === 0
    ? text
    : `${beginningOf(text, end)}\n[cut at ${bytes_max} bytes; ${left} characters more are kept in the journal]`
}

/** Whether the result is larger than what a model is shown of one. */
export const isLong = (outcome: Outcome): boolean =>
  outcome._tag === "Value" && isBeyondBytes(outcome.json, model_copy_bytes_max)

/**
 * The model's copy of a result: cleaned and cut. Of a long one only the beginning is cleaned, so that a result of megabytes does not
 * keep the event loop. Returns the same object if nothing changes. `texts` = texts in it stay unescaped.
 */
export const modelCopy = (outcome: Outcome, texts: boolean): Outcome => {
  if (outcome._tag !== "Value") return outcome
  const seen = truncateUnits(outcome.json, sanitised_units_max)
  const json = capBytes(
    cleanResult(seen, texts, seen.length === outcome.json.length),
    model_copy_bytes_max,
    outcome.json.length - seen.length
  )
  return json === outcome.json ? outcome : { _tag: "Value", json }
}

/** SemStreams' prefix for a refusal by a person. */
export const rejected_prefix = "approval_rejected: "

const denied = (reason: string, message: string): string =>
  rejected_prefix +
  failureTextForModel(failureOf(new ToolPolicyError({ kind: "permission", reason, message })))

/** Cleans a text that was written for a person or a log for a model, without secrets and personal data. */
const cleanText = (text: string, tool?: string): string =>
  sanitiseText(redact(text, tool === undefined ? [] : [tool]))

/**
 * The cleaned texts of results. A result is in the prompt of every later turn, so it is cleaned only once (bench row `history`).
 */
const texts = new WeakMap<Outcome, string>()

const textOf = (outcome: Outcome, tool: string): string => {
  if (outcome._tag === "Value") return outcome.json
  let text = texts.get(outcome)
  if (text === undefined) texts.set(outcome, (text = textWithout(outcome, tool)))
  return text
}

const textWithout = (
  outcome: Exclude<Outcome, { readonly _tag: "Value" }>,
  tool: string
): string => {
  switch (outcome._tag) {
    case "Failed":
      return isCapabilityDenied(outcome.error)
        ? sanitiseText(failureTextForModel(outcome.error))
        : cleanText(failureTextForModel(outcome.error), tool)
    case "Denied":
      return denied("APPROVAL_DENIED", cleanText(`a person denied this call: ${outcome.reason}.`))
    case "Revised":
      return cleanText(`revision_requested: a person asks for another proposal: ${outcome.note}`)
    case "Expired":
      return denied("APPROVAL_EXPIRED", "the approval timed out: nobody answered in time.")
    case "Cancelled":
      return "cancelled: this call did not run."
    case "Unknown":
      return "unknown: this call was started and nobody knows whether it took effect. Do not repeat it."
  }
}

const repeatedText = ({ at, call }: Repeats): string =>
  at === undefined
    ? `Not done again: call ${call} did this. Its result:`
    : `Not done again: this was done at ${new Date(at).toISOString()}. Its result:`

/** The model's copy of a result, capped at 32,768 bytes on a character boundary. */
export const resultText = (entry: Extract<TranscriptEntry, { role: "tool" }>): string => {
  const text = textOf(entry.outcome, entry.name)
  const copy = entry.copy === true ? text : capBytes(text, model_copy_bytes_max)
  const capped = entry.repeats === undefined ? copy : `${repeatedText(entry.repeats)} ${copy}`
  return entry.modified === undefined
    ? capped
    : `A person changed the arguments to ${JSON.stringify(sanitiseTexts(entry.modified.arguments as Json))}. Result: ${capped}`
}
