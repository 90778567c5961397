/**
 * The parameters of an OpenAPI operation: which of them can be sent, in which style, and why others cannot.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import { truncateUnits } from "../value/CutText.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, isUnsafeName, listOf, memberOf } from "./BodyPath.ts"
import type { SentField } from "./CallDescriptor.ts"
import { header_name, isOwnHeader, isWithheldHeader } from "../network/HeaderNames.ts"
import type { Dialect, WrittenOperation } from "./OpenApiDocument.ts"
import type { OpenApiRefused } from "./OpenApiRefused.ts"
import { refuseOpenApi } from "./OpenApiRefused.ts"
import { isFlatSchema, isScalarSchema, schema2020 } from "./OpenApiSchema.ts"
import type { ParameterStyle } from "./ParameterStyle.ts"

/** The headers of a choice: each with the value that is always sent, or true where the model gives it. */
export type ChosenHeaders = Readonly<Record<string, string | true>>

/** A parameter that becomes an argument. */
export interface Sent {
  readonly name: string
  readonly where: "path" | "query" | "header"
  readonly required: boolean
  readonly schema: JsonObject
  /** How the value is written, where a plain value under its own name is not enough. */
  readonly style: Omit<SentField, "field"> | undefined
}

export interface Parameters {
  readonly sent: ReadonlyArray<Sent>
  readonly headers: Readonly<Record<string, string>>
  /** The optional parameters that cannot be sent, each with the reason. */
  readonly left_out: ReadonlyArray<string>
}

/** By OpenAPI, header parameters with these names are ignored. */
const no_parameters = new Set(["accept", "authorization", "content-type"])
/** Headers that the runtime sends with its calls, so that no argument is needed. */
const already_sent = new Set(["baggage", "idempotency-key", "traceparent", "user-agent"])

const isJson = (type: string): boolean => /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)

type Read =
  | { readonly _tag: "Sent"; readonly sent: Sent }
  | { readonly _tag: "Fixed"; readonly name: string; readonly value: string }
  | { readonly _tag: "NoArgument" }
  | { readonly _tag: "Refused"; readonly why: string }

const refused = (why: string): Read => ({ _tag: "Refused", why })

/** The schema of a parameter's value, which 3.0 and 3.1 allow to be given by a type of content. */
const valueOf = (
  { content, schema }: JsonObject,
  dialect: Dialect
): { readonly schema: JsonObject; readonly isJson: boolean } | undefined => {
  if (schema !== undefined) return { schema: schema2020(schema, dialect), isJson: false }
  const [entry] = Object.entries(isJsonObject(content) ? content : {})
  return entry !== undefined && isJson(entry[0])
    ? { schema: schema2020(memberOf(entry[1], "schema"), dialect), isJson: true }
    : undefined
}

const query_styles: ReadonlySet<Json | undefined> = new Set([
  "form",
  "spaceDelimited",
  "pipeDelimited",
  "deepObject"
])
const deep_styles: ReadonlySet<Json | undefined> = new Set(["deepObject", "json"])

export const isWritable = (schema: JsonObject, style: Json | undefined): boolean =>
  deep_styles.has(style) || isFlatSchema(schema)

const styled = (
  style: ParameterStyle,
  explode: Json | undefined,
  usual: boolean
): Omit<SentField, "field"> => ({
  ...(style === "form" || style === "simple" ? undefined : { style }),
  ...(typeof explode === "boolean" && explode !== usual ? { explode } : undefined)
})

const no_plain = "its value is no plain value, nor a list or an object of such"

const queryOf = (
  parameter: JsonObject,
  base: Omit<Sent, "style" | "where">,
  isText: boolean
): Read => {
  const { explode, style: given = "form" } = parameter
  const style = isText ? "json" : given
  if (style !== "json" && !query_styles.has(style)) return refused("its style is none of a query's")
  if (!isWritable(base.schema, style)) return refused(no_plain)
  const isPlain = style === "form" && isScalarSchema(base.schema)
  const usual = style === "form"
  const sent = { ...base, where: "query" as const }
  return {
    _tag: "Sent",
    sent: {
      ...sent,
      style: isPlain ? undefined : styled(style as ParameterStyle, explode, usual)
    }
  }
}

const onlyValue = ({ const: only, enum: values }: JsonObject): string | undefined => {
  const [value = only, ...more] = listOf(values)
  return more.length === 0 && (typeof value === "string" || typeof value === "number")
    ? String(value)
    : undefined
}

const headerOf = (
  { explode }: JsonObject,
  base: Omit<Sent, "style" | "where">,
  isText: boolean,
  chosen: ChosenHeaders
): Read => {
  const { name, required, schema } = base
  if (no_parameters.has(name.toLowerCase()) || already_sent.has(name.toLowerCase())) {
    return { _tag: "NoArgument" }
  }
  if (!header_name.test(name)) return refused("no header can have this name")
  if (isOwnHeader(name)) return refused("the runtime sets this header itself, or never sends it")
  const [, given] =
    Object.entries(chosen).find(([each]) => each.toLowerCase() === name.toLowerCase()) ?? []
  const value = given ?? (required ? onlyValue(schema) : undefined)
  if (typeof value === "string") return { _tag: "Fixed", name, value }
  if (value !== true) {
    const said = `headers: { ${JSON.stringify(truncateUnits(name, 64))}: "..." }`
    return refused(`it is a header: give its value with the choice, as ${said}`)
  }
  if (isWithheldHeader(name)) return refused("no model may give this header: give its value")
  if (!isWritable(schema, isText ? "json" : "simple")) return refused(no_plain)
  const style = isText ? ({ style: "json" } as const) : styled("simple", explode, false)
  return { _tag: "Sent", sent: { ...base, where: "header", style } }
}

const readParameter = (parameter: JsonObject, dialect: Dialect, chosen: ChosenHeaders): Read => {
  const { description, in: where, name: given, required, style } = parameter
  const value = valueOf(parameter, dialect)
  const said = typeof description === "string" ? { description } : undefined
  const base = {
    name: typeof given === "string" ? given : "",
    required: required === true || where === "path",
    schema: { ...said, ...value?.schema }
  }
  const isText = value?.isJson === true
  if (isUnsafeName(base.name)) return refused("a parameter of this name is never sent")
  if (where === "header") return headerOf(parameter, base, isText, chosen)
  if (where === "cookie") return refused("it is a cookie, and calls send none")
  if (value === undefined) return refused("its value is neither a schema nor JSON")
  if (where === "query") return queryOf(parameter, base, isText)
  if (style !== undefined && style !== "simple") return refused("its style is not simple")
  return isScalarSchema(value.schema) && !isText
    ? { _tag: "Sent", sent: { ...base, where: "path", style: undefined } }
    : refused("its value is no text, number or boolean")
}

const shownName = (name: Json | undefined): string => truncateUnits(String(name), 64)

/** Reads the parameters of an operation. Fails if a required one cannot be sent, or if a chosen header cannot be one. */
export const parametersOf = (
  { id, parameters }: WrittenOperation,
  dialect: Dialect,
  chosen: ChosenHeaders
): Result.Result<Parameters, OpenApiRefused> => {
  const sent: Array<Sent> = []
  const headers: Record<string, string> = {}
  const left_out: Array<string> = []
  const declared = new Set<string>()
  for (const parameter of parameters) {
    const { in: where, name, required } = parameter
    if (where === "header") declared.add(String(name).toLowerCase())
    const read = readParameter(parameter, dialect, chosen)
    if (read._tag === "Sent") sent.push(read.sent)
    else if (read._tag === "Fixed") headers[read.name] = read.value
    else if (read._tag === "Refused") {
      if (required === true || where === "path") {
        const problem = `the parameter "${shownName(name)}" is required, and ${read.why}`
        return Result.fail(refuseOpenApi("UnsupportedParameter", id, problem))
      }
      left_out.push(`the ${String(where)} parameter "${shownName(name)}": ${read.why}`)
    }
  }
  for (const [name, value] of Object.entries(chosen)) {
    if (declared.has(name.toLowerCase())) continue
    if (value !== true && !isUnsafeName(name)) headers[name] = value
    else {
      const problem = `the document has no header parameter "${shownName(name)}" that a model could give`
      return Result.fail(refuseOpenApi("InvalidChoice", id, problem))
    }
  }
  return Result.succeed({ sent, headers, left_out })
}
