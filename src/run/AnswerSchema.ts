/**
 * The schema that the answer of a run has to fit, and what becomes of an answer that does not. A provider is asked for such an
 * answer in its own way where it has one; whatever it gives is checked here all the same.
 */
import { Cause, Exit, Result, Schema } from "effect"
import { isSameJson } from "../value/Canonical.ts"
import { truncateUnits } from "../value/CutText.ts"
import { bounds_default, readJson } from "../value/BoundedJson.ts"
import { CheckedJsonRecord } from "../value/JsonObject.ts"
import { jsonSchemaCheck } from "../tool/ToolCodec.ts"
import { refusalText } from "../schema/SchemaIssues.ts"
import { sanitiseText } from "../tool/Sanitise.ts"

/** A JSON Schema of an object, draft 2020-12. */
export type AnswerSchema = Readonly<Record<string, Schema.Json>>

/** In characters of JSON. */
const schema_units_max = 65_536
/** Of the reason why an answer does not fit, in UTF-16 units. */
const reason_units_max = 1_000

type Check = ReturnType<typeof jsonSchemaCheck>

/** Compiled checks by the texts of their schemas: an application asks with the same few again and again. */
const checksByText = new Map<string, Check>()
const checks_max = 256
/** Compiled checks by schema: each run at work has its own object, decoded from the journal. */
const checksBySchema = new WeakMap<AnswerSchema, Check>()

const compiled = (schema: AnswerSchema): Check => {
  const text = JSON.stringify(schema)
  let check = checksByText.get(text)
  if (check === undefined) {
    if (checksByText.size === checks_max)
      checksByText.delete(checksByText.keys().next().value ?? "")
    checksByText.set(text, (check = jsonSchemaCheck(schema)))
  }
  return check
}

const checkOf = (schema: AnswerSchema): Check => {
  let check = checksBySchema.get(schema)
  if (check === undefined) checksBySchema.set(schema, (check = compiled(schema)))
  return check
}

/** Why answers cannot be checked by this schema; undefined = they can. */
const refusalOf = (schema: AnswerSchema): string | undefined => {
  if (JSON.stringify(schema).length > schema_units_max) {
    return `expected at most ${schema_units_max} characters of JSON`
  }
  if (schema["type"] !== "object") {
    return 'expected a JSON Schema of type "object" at its top: wrap any other in an object'
  }
  return problemOf(schema)
}

const problemOf = (schema: AnswerSchema): string | undefined => {
  const check = compiled(schema)
  return Result.isSuccess(check) ? undefined : check.failure.problem
}

/** Refuses a JSON Schema by which answers cannot be checked. */
export const isCheckable = Schema.makeFilter((schema: AnswerSchema) => problemOf(schema) ?? true)

/** A JSON Schema from outside: of an object, within the bound, and one by which answers can be checked. */
export const CheckedAnswerSchema = CheckedJsonRecord.check(
  Schema.makeFilter((schema: AnswerSchema) => refusalOf(schema) ?? true)
)

const fenced = /^```[A-Za-z]*\s*\n([\s\S]*?)\n?\s*```$/

/** The JSON of an answer: models without a mode for it often put it into a block of Markdown. */
const jsonTextOf = (text: string): string => {
  const trimmed = text.trim()
  return fenced.exec(trimmed)?.[1]?.trim() ?? trimmed
}

/** Either the JSON text of an answer that fits, or why it does not. */
export const fitAnswer = (schema: AnswerSchema, text: string): Result.Result<string, string> => {
  const json = jsonTextOf(text)
  const value = readJson(json, bounds_default)
  if (Result.isFailure(value)) return Result.fail(value.failure.message)
  const check = checkOf(schema)
  if (Result.isFailure(check)) return Result.fail(check.failure.problem)
  const exit = check.success(value.success)
  if (Exit.isFailure(exit)) {
    return Result.fail(truncateUnits(refusalText(Cause.squash(exit.cause)), reason_units_max))
  }
  // Without the nulls that count as absent, so that whoever reads it finds what the schema says.
  return Result.succeed(isSameJson(exit.value, value.success) ? json : JSON.stringify(exit.value))
}

/** How often a model may answer again after an answer that does not fit. */
export const repairs_max = 1

/** The reason of a run that failed because its answer did not fit its schema. */
export const unfit_reason = "answer_unfit"

/** Appended to the instructions of a run whose answer has a schema. */
export const answerInstruction = (schema: AnswerSchema): string =>
  `\n\nYour final answer is one JSON object, without any text around it, that fits this JSON Schema:\n${JSON.stringify(schema)}`

/** What the model reads in the transcript after an answer that does not fit. */
export const unfitText = (reason: string): string =>
  `[runtime] Your answer does not fit the JSON Schema that was asked for: ${sanitiseText(reason)}. Answer again with one JSON object that fits it, and nothing else.`
