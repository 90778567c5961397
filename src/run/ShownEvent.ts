/** An event as people are shown it. */
import type { Schema } from "effect"
import { redact } from "../error/Redaction.ts"
import { isSecretName } from "../error/SecretNames.ts"
import type { RunContext } from "./RunContext.ts"
import type { RunEvent } from "./RunEvent.ts"

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
