/**
 * The conversation as the script reads it: its steps, each with arguments and outcome.
 */
import { Result } from "effect"
import { call } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { bounds_result, readJson } from "../../src/value/BoundedJson.ts"
import type { Json } from "../../src/value/Canonical.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"

export interface Step {
  readonly name: string
  /** As they were proposed. */
  readonly args: Readonly<Record<string, unknown>>
  /** As a person changed them before it was done, and who. */
  readonly modified?: { readonly by: string; readonly arguments: unknown }
  /** As the model is shown it: cleaned, and where it was cut its text is no JSON. */
  readonly outcome: Outcome
}

export interface Seen {
  /** What the user said last. */
  readonly asked: string
  /** Of the whole conversation, oldest first. */
  readonly all: ReadonlyArray<Step>
  /** Since the user's last message. */
  readonly now: ReadonlyArray<Step>
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {}

const characters: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'"
}

/** Texts are escaped in what a model is shown; what it writes to people is not. */
const unescaped = (value: unknown): unknown => {
  if (typeof value === "string") {
    return value.replace(/&(?:amp|lt|gt|quot|#x27);/g, (entity) => characters[entity] ?? entity)
  }
  if (Array.isArray(value)) return value.map(unescaped)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, unescaped(each)]))
}

/** The JSON of a step that succeeded, its texts unescaped; undefined for one that was cut. */
export const jsonOf = (step: Step): unknown => {
  if (step.outcome._tag !== "Value") return undefined
  const read = readJson(step.outcome.json, bounds_result)
  return Result.isSuccess(read) ? unescaped(read.success) : undefined
}

/** The object that a step gave; an empty one where it gave another value. */
export const valueOf = (step: Step): Readonly<Record<string, unknown>> | undefined => {
  const json = jsonOf(step)
  return json === undefined ? undefined : record(json)
}

/** Looks at nothing but the request, so that a new process says what the old one would have said. */
export const read = ({ history, transcript }: ModelRequest): Seen => {
  const all: Array<Step> = []
  let asked = ""
  let from = 0
  // A model's own call ids may repeat from turn to turn: only those of the last turn are open.
  let open: Array<{ readonly model_id: string; readonly arguments: unknown }> = []
  for (const entry of [...history, ...transcript]) {
    switch (entry.role) {
      case "user":
        asked = entry.text
        from = all.length
        break
      case "assistant":
        open = [...entry.calls]
        break
      case "tool": {
        const at = open.findIndex(({ model_id }) => model_id === entry.model_id)
        const [proposed] = at < 0 ? [] : open.splice(at, 1)
        const { modified, name, outcome } = entry
        const args = record(proposed?.arguments)
        all.push({ name, args, outcome, ...(modified === undefined ? undefined : { modified }) })
        break
      }
    }
  }
  return { asked, all, now: all.slice(from) }
}

/** What became of a call, for a person: a model is told the class of an error and what to do about it too. */
export const outcomeOf = ({ outcome }: Step): string => {
  switch (outcome._tag) {
    case "Value":
      return "the result is too long to be read"
    case "Failed":
      return outcome.error.message
    case "Denied":
      return `${outcome.by} denied it (${outcome.reason})`
    case "Revised":
      return `${outcome.by} asked for another proposal: ${outcome.note}`
    case "Expired":
      return "nobody decided in time"
    case "Cancelled":
      return "the proposal was cancelled"
    case "Unknown":
      return "nobody knows whether it took effect: an operator must say"
  }
}

/** The last use of a tool since the user's last message. */
export const lastOf = ({ now }: Seen, name: string): Step | undefined =>
  now.findLast((step) => step.name === name)

/** A list in what a step gave; empty where it gave none. */
export const listIn = <A>(step: Step | undefined, member: string): ReadonlyArray<A> =>
  step === undefined ? [] : ((valueOf(step)?.[member] ?? []) as ReadonlyArray<A>)

/** Uses a tool once, then goes on with the object that it gave, or says what could not be done. A text is an answer. */
export const once = (
  seen: Seen,
  tool: string,
  args: Json,
  then: (value: Readonly<Record<string, unknown>>) => Turn | string,
  failed = "I could not look"
): Turn | string => {
  const step = lastOf(seen, tool)
  if (step === undefined) return call(tool, args)
  const value = valueOf(step)
  return value === undefined ? `${failed}: ${outcomeOf(step)}.` : then(value)
}
