/**
 * The typed failures of a tool of `effect/ai` as the four classes: by a table of their tags or a function, else by what the tool says
 * of its failures.
 */
import { Duration, Exit, Predicate, Schema } from "effect"
import * as AiError from "effect/ai/AiError"
import type * as Tool from "effect/ai/Tool"
import {
  isToolError,
  ToolErrorClass,
  toolErrors,
  ToolTerminalError,
  ToolTransientError
} from "../error/ToolError.ts"
import type { ToolError } from "../error/ToolError.ts"
import { truncateUnits } from "../value/CutText.ts"
import { defined } from "../value/PlainObject.ts"
import type { MisdeclaredTool } from "./MisdeclaredTool.ts"
import { misdeclared } from "./MisdeclaredTool.ts"

type TagOf<Failure> = Failure extends { readonly _tag: infer Tag extends string } ? Tag : never

/**
 * Classes by the tags of failures: `{ OutOfStock: "ToolUserError" }` keeps the failure's `message`, else its JSON, and a function
 * makes the error itself. Models read the message, and customers read that of a `ToolUserError` and a `ToolPolicyError`.
 */
export type FailureTable<Failure> = {
  readonly [Tag in TagOf<Failure>]?:
    | ToolErrorClass
    | ((failure: Extract<Failure, { readonly _tag: Tag }>) => ToolError)
}

/** What class a failure is of: a table, or a function, which gives undefined where it does not know. */
export type Failures<Failure> =
  | FailureTable<Failure>
  | ((failure: Failure) => ToolError | undefined)

/** The same for any failures, as an annotation has it. */
export type AnyFailures =
  | Readonly<Record<string, ToolErrorClass | ((failure: never) => ToolError)>>
  | ((failure: never) => ToolError | undefined)

const isClass = Schema.is(ToolErrorClass)

/** The error for a table that names what is no class; undefined = it can be used. */
export const misdeclaredFailures = (
  tool: string,
  failures: AnyFailures | undefined
): MisdeclaredTool | undefined => {
  if (failures === undefined || typeof failures === "function") return undefined
  const fix = `Write ${ToolErrorClass.literals.join(", ")} or a function of the failure`
  if (!Predicate.isObject(failures)) return misdeclared(tool, "failures", "it is no table", fix)
  const wrong = Object.entries(failures).find(
    ([, each]) => typeof each !== "function" && !isClass(each)
  )
  return wrong && misdeclared(tool, `failures.${wrong[0]}`, "it is no class of errors", fix)
}

const tagOf = (failure: unknown): string | undefined =>
  Predicate.hasProperty(failure, "_tag") && typeof failure._tag === "string"
    ? failure._tag
    : undefined

/** The failure as JSON by its tool's schema; undefined = it does not fit. */
type FailureText = (failure: unknown) => string | undefined

const failureTextOf = ({ failureSchema }: Tool.Any): FailureText => {
  let encode: ((failure: unknown) => Exit.Exit<unknown, unknown>) | undefined
  return (failure) => {
    encode ??= Schema.encodeUnknownExit(Schema.toCodecJson(failureSchema as Schema.Codec<unknown>))
    const json = encode(failure)
    if (Exit.isFailure(json)) return undefined
    return typeof json.value === "string" ? json.value : JSON.stringify(json.value)
  }
}

const messageOf = (failure: unknown): string | undefined =>
  Predicate.hasProperty(failure, "message") &&
  typeof failure.message === "string" &&
  failure.message !== ""
    ? failure.message
    : undefined

const byTable = (
  failures: AnyFailures | undefined,
  failure: unknown,
  textOf: FailureText
): ToolError | undefined => {
  if (failures === undefined) return undefined
  if (typeof failures === "function") return failures(failure as never)
  const tag = tagOf(failure)
  const found = tag !== undefined && Object.hasOwn(failures, tag) ? failures[tag] : undefined
  if (found === undefined || tag === undefined) return undefined
  return typeof found === "function"
    ? found(failure as never)
    : new toolErrors[found]({ message: messageOf(failure) ?? textOf(failure) ?? tag })
}

/** A model that the tool itself called, and that may answer later. Its own text is a provider's. */
const ofModel = (failure: unknown): ToolError | undefined => {
  const error = AiError.isAiErrorReason(failure)
    ? AiError.make({ module: "Toolkit", method: "handle", reason: failure })
    : failure
  if (!AiError.isAiError(error) || !error.isRetryable) return undefined
  const { retryAfter } = error
  return new ToolTransientError({
    reason: "MODEL_FAILED",
    message: "a model that the tool needs did not answer",
    ...defined({ retry_after_ms: retryAfter && Math.ceil(Duration.toMillis(retryAfter)) })
  })
}

const failure_units_max = 2_000

/**
 * Gives what a failure of this tool becomes. The first table that knows it decides. A failure that is given to models
 * (`failureMode: "return"`) is a `ToolTerminalError` with its JSON, which no customer reads; any other is left as it is, and fails the
 * call like a defect.
 */
export const failureReader = (
  tool: Tool.Any,
  tables: ReadonlyArray<AnyFailures | undefined>
): ((failure: unknown) => unknown) => {
  const textOf = failureTextOf(tool)
  return (failure) => {
    if (isToolError(failure)) return failure
    for (const table of tables) {
      const found = byTable(table, failure, textOf)
      if (isToolError(found)) return found
    }
    const transient = ofModel(failure)
    if (transient !== undefined) return transient
    const text = tool.failureMode === "return" ? textOf(failure) : undefined
    return text === undefined
      ? failure
      : new ToolTerminalError({ kind: "unknown", message: truncateUnits(text, failure_units_max) })
  }
}
