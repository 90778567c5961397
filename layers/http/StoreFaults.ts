/**
 * What a store said where a request is answered with 503. The answer keeps it from the caller; the log has it, with the id by
 * which the answer names the request.
 */
import { Clock, Context, Effect } from "effect"
import type { Problem } from "../../src/api/Problem.ts"
import { cutText } from "../../src/CutText.ts"
import { redact } from "../../src/error/Redaction.ts"
import { logText } from "../../src/LogText.ts"

/** The id of this request, as its answer has it. */
export const CorrelationId: Context.Reference<string> = Context.Reference<string>(
  "troupe/http/CorrelationId",
  { defaultValue: () => "" }
)

/** The same words are logged once in so many ms, because a store that is away fails every request. */
const quiet_ms = 10_000
const message_max = 500
/** Of different words that are remembered. */
const messages_max = 100

const said = new WeakMap<object, string>()

/** Keeps the words beside the problem. */
export const keepSaid = (problem: Problem, message: string): void => {
  said.set(problem, message)
}

/** The words for an error of an endpoint, which may come with a wrapper of the API's builder. */
const saidOf = (error: unknown): string | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  return said.get(error) ?? ("error" in error ? saidOf(error.error) : undefined)
}

/** Logs what a store said, if the error is that of a store. */
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
