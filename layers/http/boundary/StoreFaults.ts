/**
 * Keeps the message of a store whose failure is answered with 503. The response does not show it to the caller; the log has it,
 * with the correlation id that is in the response.
 */
import { Clock, Context, Effect } from "effect"
import type { Problem } from "../../../src/operation/Problem.ts"
import { cutText } from "../../../src/value/CutText.ts"
import { redact } from "../../../src/error/Redaction.ts"
import { logText } from "../../../src/value/InvisibleText.ts"

/** The correlation id of this request, which its response contains. */
export const CorrelationId: Context.Reference<string> = Context.Reference<string>(
  "troupe/http/CorrelationId",
  { defaultValue: () => "" }
)

/** The same message is logged at most once in this many ms, because a store that does not answer fails every request. */
const quiet_ms = 10_000
const message_max = 500
/** The maximum number of different messages that are remembered. */
const messages_max = 100

const said = new WeakMap<object, string>()

/** Stores the message beside the problem. */
export const keepSaid = (problem: Problem, message: string): void => {
  said.set(problem, message)
}

/** The message for an error of an endpoint, which the API's builder may have wrapped. */
const saidOf = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  return said.get(error) ?? ("error" in error ? saidOf(error.error) : undefined)
}

/** Logs the message of a store, if the error is one of a store. */
export const makeLog = (): ((error: unknown) => Effect.Effect<void>) => {
  const logged = new Map<string, number>()
  return (error) => {
    const words = saidOf(error)
    if (words === undefined) return Effect.void
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const message = redact(logText(cutText(words, message_max)))
      if (now - (logged.get(message) ?? -Infinity) < quiet_ms) return Effect.void
      if (logged.size >= messages_max) logged.clear()
      logged.set(message, now)
      return Effect.flatMap(CorrelationId, (correlation_id) =>
        Effect.annotateLogs(Effect.logWarning(`a store failed a request: ${message}`), {
          correlation_id
        })
      )
    })
  }
}
