/**
 * The four classes of tool errors. The class says what can fix it: the model or its user (user), a person with more rights
 * (policy), another try later (transient), or nothing (terminal).
 */
import { Effect, Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"

/** What went wrong, one level finer than the class. The names are SemStreams'. */
export const ToolErrorKind = Schema.Literals([
  "timeout",
  "not_found",
  "invalid_args",
  "permission",
  "network",
  "external",
  "internal",
  "unknown"
])
export type ToolErrorKind = typeof ToolErrorKind.Type

/** The members of a class of errors, whose kind is `usual` where its author says none. */
const fieldsOf = (usual: ToolErrorKind) =>
  ({
    /** What went wrong, one level finer than the class. Absent = the usual kind of the class. */
    kind: ToolErrorKind.pipe(Schema.withConstructorDefault(Effect.succeed(usual))),
    /** A stable code for programs, in capitals, for example `APPROVAL_DENIED`. */
    reason: Schema.optionalKey(Schema.String),
    /** A sentence for the model; at most 2,000 characters are kept. */
    message: Schema.String
  }) as const

/** Wrong arguments or missing context (`invalid_args`). The user may see it; the model can correct the call. */
export class ToolUserError extends Schema.TaggedError<ToolUserError>()(
  "ToolUserError",
  fieldsOf("invalid_args")
) {}

/** Refused by a capability, a permission, an approver or a limit (`permission`). The user may see it; the same call fails again. */
export class ToolPolicyError extends Schema.TaggedError<ToolPolicyError>()(
  "ToolPolicyError",
  fieldsOf("permission")
) {}

/** A fault of infrastructure that may pass (`external`, which a retry covers). Its message is not shown to users. */
export class ToolTransientError extends Schema.TaggedError<ToolTransientError>()(
  "ToolTransientError",
  {
    ...fieldsOf("external"),
    /** How long to wait before another try, in ms, where the other side says so. */
    retry_after_ms: Schema.optionalKey(Schema.Int)
  }
) {}

/** The failure of a store. Its own message is left out, because a model can do nothing about it. */
export const storeUnavailable = (store: string, kind: ToolErrorKind = "external") =>
  new ToolTransientError({ kind, reason: "STORE_UNAVAILABLE", message: `${store} did not answer` })

/** A broken invariant or a defect (`internal`). Its message is not shown to users. */
export class ToolTerminalError extends Schema.TaggedError<ToolTerminalError>()(
  "ToolTerminalError",
  fieldsOf("internal")
) {}

/** An error of a tool, in one of the four classes. */
export const ToolError = Schema.Union([
  ToolUserError,
  ToolPolicyError,
  ToolTransientError,
  ToolTerminalError
])
export type ToolError = typeof ToolError.Type

/** The classes by their names. */
export const toolErrors = { ToolUserError, ToolPolicyError, ToolTransientError, ToolTerminalError }

export const isToolError = (error: unknown): error is ToolError =>
  error instanceof ToolUserError ||
  error instanceof ToolPolicyError ||
  error instanceof ToolTransientError ||
  error instanceof ToolTerminalError

export const ToolErrorClass = Schema.Literals([
  "ToolUserError",
  "ToolPolicyError",
  "ToolTransientError",
  "ToolTerminalError"
])
export type ToolErrorClass = typeof ToolErrorClass.Type

/** A tool error as the journal keeps it: plain data, no stack, no cause. */
export class ToolFailure extends Schema.Opaque<ToolFailure>()(
  Schema.Struct({
    /** The class: what can fix it. */
    class: ToolErrorClass,
    /** What went wrong, one level finer than the class. */
    kind: ToolErrorKind,
    /** A stable code for programs, in capitals. Absent = none. */
    reason: Schema.optionalKey(Schema.String),
    /** A sentence for the model, at most 2,000 characters. */
    message: Schema.String,
    /** How long to wait before another try, in ms. Absent = the other side did not say. */
    retry_after_ms: Schema.optionalKey(Schema.Int)
  })
) {}

const message_max = 2_000

/** The journal's form of an error; the message is cut at 2,000 characters. */
export const failureOf = (error: ToolError): ToolFailure => ({
  class: error._tag,
  kind: error.kind,
  ...(error.reason === undefined ? undefined : { reason: error.reason }),
  message: truncateUnits(error.message, message_max),
  ...(error._tag === "ToolTransientError" && error.retry_after_ms !== undefined
    ? { retry_after_ms: error.retry_after_ms }
    : undefined)
})

/** The error that a failure tells of; `failureOf` gives the same failure for it. */
export const errorOfFailure = ({ class: name, ...fields }: ToolFailure): ToolError =>
  new toolErrors[name](fields)

const advice: Record<ToolErrorClass, string> = {
  ToolUserError: "Change the arguments, or ask the user for what is missing.",
  ToolPolicyError: "This was refused by policy. Do not try the same call again.",
  ToolTransientError: "This may work later.",
  ToolTerminalError: "This cannot succeed. Do not try it again."
}

/** The text that the model reads: class, kind, what happened, what to do. */
export const failureTextForModel = (failure: ToolFailure): string =>
  `${failure.class} (${failure.kind}${failure.reason === undefined ? "" : `, ${failure.reason}`}): ${failure.message} ` +
  (failure.retry_after_ms === undefined
    ? advice[failure.class]
    : `This may work again in ${failure.retry_after_ms} ms.`)

/** The text that an end user may read: the message of user and policy errors; of the others only that the call failed. */
export const failureTextForUser = (failure: ToolFailure): string => {
  switch (failure.class) {
    case "ToolUserError":
      return failure.message
    case "ToolPolicyError":
      return `Not allowed: ${failure.message}`
    case "ToolTransientError":
      return "A service that is needed for this did not answer. It may work later."
    case "ToolTerminalError":
      return "This could not be done because of an internal fault."
  }
}
