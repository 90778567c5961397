/**
 * Takes the secrets of a run's context out of what a body gives, throws and traces: a tool is told them, and nothing that it says
 * may carry them on. What is logged, recorded, journaled, shown and read by the model follows from this.
 */
import { Cause, Effect, Exit, Logger, Result, Tracer } from "effect"
import type { Json } from "../../../src/value/Canonical.ts"
import { parseExactly } from "../../../src/value/JsonText.ts"
import { redacted, withoutSecrets } from "../../../src/error/KnownSecrets.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import { errorOfFailure, failureOf, isToolError } from "../../../src/error/ToolError.ts"

/** The forms of the secrets (`KnownSecrets`). */
type Secrets = ReadonlyArray<string>

/** How many causes behind an error are kept. */
const causes_max = 8

export const strippedToolError = (error: ToolError, secrets: Secrets): ToolError => {
  const { message, reason, ...failure } = failureOf(error)
  return errorOfFailure({
    ...failure,
    message: redacted(message, secrets),
    ...(reason === undefined ? undefined : { reason: redacted(reason, secrets) })
  })
}

/** A text stays one, and a tool error one of its class; anything else becomes a plain error. May throw as it is read. */
const strippedThrown = (thrown: unknown, secrets: Secrets, left: number): unknown => {
  if (typeof thrown === "string") return redacted(thrown, secrets)
  if (isToolError(thrown)) return strippedToolError(thrown, secrets)
  if (!(thrown instanceof Error)) {
    const clean = new Error(redacted(String(thrown), secrets))
    clean.name = typeof thrown
    return clean
  }
  const { cause, message, stack = "" } = thrown
  const clean = new Error(redacted(message, secrets))
  clean.name = redacted("_tag" in thrown ? String(thrown._tag) : thrown.name, secrets)
  clean.stack = redacted(stack, secrets)
  if (cause !== undefined && left > 0) clean.cause = strippedThrown(cause, secrets, left - 1)
  return clean
}

const readable = (thrown: unknown, secrets: Secrets): unknown =>
  Result.getOrElse(
    Result.try(() => strippedThrown(thrown, secrets, causes_max)),
    () => new Error("an error whose members cannot be read")
  )

/** The same cause without the secrets. Errors of no class of tool errors become plain ones. */
export const strippedCause = <E>(cause: Cause.Cause<E>, secrets: Secrets): Cause.Cause<E> =>
  Cause.fromReasons(
    cause.reasons.map((reason) =>
      Cause.isFailReason(reason)
        ? Cause.makeFailReason(readable(reason.error, secrets) as E)
        : Cause.isDieReason(reason)
          ? Cause.makeDieReason(readable(reason.defect, secrets))
          : reason
    )
  )

/** What the value is in JSON, without the secrets; undefined for what JSON leaves out. Throws where writing it as JSON throws. */
export const strippedJson = (value: unknown, secrets: Secrets): Json | undefined => {
  const json: string | undefined = JSON.stringify(value)
  return json === undefined ? undefined : withoutSecrets(parseExactly(json) as Json, secrets)
}

/** As `strippedJson`; undefined where writing it as JSON throws, too. */
export const strippedShown = (value: unknown, secrets: Secrets): Json | undefined =>
  Result.getOrUndefined(Result.try(() => strippedJson(value, secrets)))

const strippedSpan = (span: Tracer.Span, secrets: Secrets): Tracer.Span => {
  const attribute = span.attribute.bind(span)
  const event = span.event.bind(span)
  const end = span.end.bind(span)
  span.attribute = (name, value) =>
    attribute(redacted(name, secrets), strippedShown(value, secrets))
  span.event = (name, at, attributes = {}) =>
    event(
      redacted(name, secrets),
      at,
      Object.fromEntries(
        Object.entries(attributes).map(([key, value]) => [key, strippedShown(value, secrets)])
      )
    )
  span.end = (at, exit) =>
    end(at, Exit.isSuccess(exit) ? exit : Exit.failCause(strippedCause(exit.cause, secrets)))
  return span
}

const strippedTracer = (tracer: Tracer.Tracer, secrets: Secrets): Tracer.Tracer => ({
  ...(tracer.context === undefined ? undefined : { context: tracer.context }),
  span: (options) =>
    strippedSpan(tracer.span({ ...options, name: redacted(options.name, secrets) }), secrets)
})

const strippedLogger = (
  logger: Logger.Logger<unknown, unknown>,
  secrets: Secrets
): Logger.Logger<unknown, unknown> =>
  Logger.make(({ cause, message, ...options }) =>
    logger.log({
      ...options,
      message: strippedShown(message, secrets),
      cause: strippedCause(cause, secrets)
    })
  )

/** The body, whose failures, spans and logs have none of the secrets. Its value is stripped where it is encoded. */
export const strippedBody = <A, E, R>(
  body: Effect.Effect<A, E, R>,
  secrets: Secrets
): Effect.Effect<A, E, R> =>
  body.pipe(
    Effect.catchCause((cause) => Effect.failCause(strippedCause(cause, secrets))),
    Effect.updateService(Tracer.Tracer, (tracer) => strippedTracer(tracer, secrets)),
    Effect.updateService(
      Logger.CurrentLoggers,
      (loggers) => new Set([...loggers].map((logger) => strippedLogger(logger, secrets)))
    )
  )
