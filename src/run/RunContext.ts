/**
 * What an application tells the tools of a run and not its model: who the customer is, its language, a plan. It comes with the
 * message, is journaled, and is the same for every call of the run. Secrets do not belong in it.
 */
import { Exit, Schema } from "effect"
import { redact } from "../error/Redaction.ts"
import { isSecretName } from "../error/SecretNames.ts"
import type { RunEvent } from "./RunEvent.ts"

/** A JSON object. */
export type RunContext = Readonly<Record<string, Schema.Json>>

/** In characters of JSON. */
const context_units_max = 16_384

/** A context from outside: at most 16,384 characters of JSON. */
export const CheckedRunContext = Schema.Record(Schema.String, Schema.Json).check(
  Schema.makeFilter(
    (context: RunContext) =>
      JSON.stringify(context).length <= context_units_max ||
      `expected at most ${context_units_max} characters of JSON`
  )
)

/** Of a message without a context, where a tool reads one. */
export const no_context: RunContext = {}

/** A tool that reads the context by a schema. */
interface ReadsContext {
  readonly context?: (given: unknown) => Exit.Exit<unknown, unknown>
}

/** The context as the tool reads it; of a tool without a schema as it was given. */
export const contextFor = (
  { context: read }: ReadsContext,
  given: RunContext | undefined
): Exit.Exit<unknown, unknown> =>
  read === undefined ? Exit.succeed(given) : read(given ?? no_context)

const shown = (value: Schema.Json, name?: string): Schema.Json => {
  if (name !== undefined && isSecretName(name, value)) return "[redacted]"
  if (typeof value === "string") return redact(value)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map((item) => shown(item, name))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, shown(member, name)])
  )
}

/** The event as people are shown it: the context of a run without secrets and personal data. */
export const shownEvent = (event: RunEvent): RunEvent =>
  event._tag === "RunAccepted" && event.context !== undefined
    ? { ...event, context: shown(event.context) as RunContext }
    : event
