/**
 * Makes the request of a direct call from its assembled body. What is sent in the path, the query and headers is taken out of
 * the body; a request without a body sends the rest as its query.
 */
import { Result } from "effect"
import type { BodyPath, JsonObject } from "./BodyPath.ts"
import { isJsonObject, memberOf, valueAt, withoutValueAt } from "./BodyPath.ts"
import type { CallMethod, DirectRequest, RequestContent, SentField } from "./CallDescriptor.ts"
import { contentKind, fieldsOf, sendsBody } from "./CallDescriptor.ts"
import type { CallProfile, TargetRefusal } from "./CallTarget.ts"
import { parametersOf, targetOf } from "./CallTarget.ts"
import { header_value } from "../network/HeaderNames.ts"
import type { FieldsRefusal, ParameterStyle, SentValue } from "./ParameterStyle.ts"
import { fieldPairs, formEncoded, formText, isScalar, pairsOf } from "./ParameterStyle.ts"
import type { Json } from "../value/Canonical.ts"

interface RequestBody {
  readonly type: string
  readonly text: string
}

type Written = Result.Result<RequestBody | undefined, FieldsRefusal>

const formFields = ({ parts = {} }: RequestContent, body: JsonObject): ReadonlyArray<SentValue> => {
  const named = new Map(Object.entries(parts).map(([name, part]) => [part.field, { name, part }]))
  return Object.entries(body).map(([field, value]) => {
    const found = named.get(field)
    if (found === undefined) return { name: field, value, style: "content" }
    const { explode, style = "content" } = found.part
    return { name: found.name, value, style, ...(explode === undefined ? undefined : { explode }) }
  })
}

interface Part {
  readonly name: string
  readonly text: string
  readonly isJson: boolean
}

/** As browsers write the name of a part. */
const quoted = (name: string): string =>
  name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A")

/** Joins the parts. The boundary follows from them, so that a request that is sent again has the same bytes. */
const multipart = (parts: ReadonlyArray<Part>): RequestBody => {
  let n = 0
  while (parts.some(({ text }) => text.includes(`--troupe-${n}`))) n++
  const boundary = `troupe-${n}`
  const text = parts
    .map(({ isJson, name, text: value }) => {
      const type = isJson ? "\r\nContent-Type: application/json" : ""
      return `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${type}\r\n\r\n${value}\r\n`
    })
    .join("")
  return { type: `multipart/form-data; boundary=${boundary}`, text: `${text}--${boundary}--\r\n` }
}

const isObjectPart = (value: Json): boolean =>
  Array.isArray(value) ? value.some((item: Json) => !isScalar(item)) : isJsonObject(value)

const asItIs = (text: string): string => text

const multipartOf = (fields: ReadonlyArray<SentValue>): Written => {
  const written = fieldPairs(fields, asItIs)
  if (Result.isFailure(written)) return Result.fail(written.failure)
  const parts: Array<Part> = []
  for (const { name, value, ...style } of fields) {
    const pairs = Result.getOrElse(pairsOf(name, value, style, asItIs), () => [])
    const isJson = style.style === "json" || (style.style === "content" && isObjectPart(value))
    for (const [each, text] of pairs) parts.push({ name: each, text, isJson })
  }
  return Result.succeed(multipart(parts))
}

/** A text goes out in UTF-8, and says so where its media type may. */
const textType = (type: string): string =>
  /^text\//i.test(type) && !/;\s*charset=/i.test(type) ? `${type}; charset=utf-8` : type

const whole = (type: string, value: Json | undefined): Written => {
  if (value === undefined) return Result.succeed(undefined)
  if (contentKind(type) === "json") return Result.succeed({ type, text: JSON.stringify(value) })
  if (value === null) return Result.succeed(undefined)
  if (!isScalar(value)) return Result.fail("non-scalar-argument")
  const text = String(value)
  return text.isWellFormed()
    ? Result.succeed({ type: textType(type), text })
    : Result.fail("ill-formed-text")
}

/** Writes the fields that the body has. Undefined = the field that is the body has no value, and no body is sent. */
const writtenBody = (content: RequestContent, body: JsonObject): Written => {
  const { field, type } = content
  switch (contentKind(type)) {
    case "form":
      return Result.map(fieldPairs(formFields(content, body), formEncoded), (pairs) => ({
        type,
        text: formText(pairs)
      }))
    case "multipart":
      return multipartOf(formFields(content, body))
    default:
      return whole(type, field === undefined ? body : valueAt(body, field.split(".")))
  }
}

/** `unsafe-header`: a header's value would not be one line of ASCII. */
export type RequestRefusal = TargetRefusal | FieldsRefusal | "query-too-long" | "unsafe-header"

export interface CallRequest {
  readonly method: CallMethod
  readonly url: URL
  readonly body: string | undefined
  /** The media type of the body. Absent = `application/json`. */
  readonly content_type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The timeout, in ms. Absent = that of the client. */
  readonly timeout_ms?: number
}

const url_max = 8_000

export const parameterPaths = (path: string): ReadonlyArray<BodyPath> =>
  parametersOf(path).map((name) => name.split("."))

/** For `{a.b}`, the field `b` of `a` comes before a member `a.b`: no argument of that name may replace a bound field. */
export const parameterValues = (path: string, body: JsonObject): JsonObject =>
  Object.fromEntries(
    parametersOf(path).flatMap((name) => {
      const placed = valueAt(body, name.split("."))
      // A null counts too: no argument may take the place of a fixed null.
      const value = placed === undefined ? memberOf(body, name) : placed
      return value === undefined ? [] : [[name, value] as const]
    })
  )

const querySent = ({ query = {} }: DirectRequest) => fieldsOf(query, () => true)
/** The headers whose values are fields of the body. Any other header has one value for all calls. */
const headerSent = ({ headers = {} }: DirectRequest) => fieldsOf(headers, () => false)

/** The paths in the body of what is sent in the query and in headers by a name of its own. */
export const sentPaths = (call: DirectRequest): ReadonlyArray<BodyPath> =>
  call.query === undefined && call.headers === undefined
    ? []
    : [...querySent(call), ...headerSent(call)].map(([, { field }]) => field.split("."))

/** The body without what is sent in the path, the query and headers: what is left to send, and what the endpoint's schema describes. */
export const bodyOfRequest = (call: DirectRequest, body: JsonObject): JsonObject => {
  const inPath = parametersOf(call.path).reduce(
    (rest, name) => withoutValueAt(withoutValueAt(rest, name.split(".")), [name]),
    body
  )
  return sentPaths(call).reduce(withoutValueAt, inPath)
}

const valuesOf = (
  sent: ReadonlyArray<readonly [name: string, sent: SentField]>,
  body: JsonObject,
  usual: ParameterStyle
): ReadonlyArray<SentValue> =>
  sent.map(([name, { explode, field, style = usual }]) => ({
    name,
    value: valueAt(body, field.split(".")) ?? null,
    style,
    ...(explode === undefined ? undefined : { explode })
  }))

/** A parameter that the path has in its own query keeps that value, because the path is fixed. Fails beyond `url_max`. */
const withQuery = (
  url: URL,
  fields: ReadonlyArray<SentValue>
): Result.Result<URL, RequestRefusal> => {
  const fixed = [...url.searchParams.keys()]
  const free = fields.filter(({ name }) => !fixed.includes(name))
  return Result.flatMap(fieldPairs(free, formEncoded, fixed), (pairs) => {
    const whole = new URL(url)
    if (pairs.length > 0) {
      whole.search = [url.search.slice(1), formText(pairs)].filter((part) => part !== "").join("&")
    }
    return whole.href.length > url_max ? Result.fail("query-too-long") : Result.succeed(whole)
  })
}

/** The headers of a call: those with one value, and those whose field has one. Undefined = there are none. */
const headersOf = (
  call: DirectRequest,
  body: JsonObject
): Result.Result<Readonly<Record<string, string>> | undefined, RequestRefusal> => {
  if (call.headers === undefined) return Result.succeed(undefined)
  const fixed = Object.entries(call.headers).flatMap(([name, given]) =>
    typeof given === "string" ? [[name, given] as const] : []
  )
  const fields = valuesOf(headerSent(call), body, "simple")
  return Result.flatMap(
    fieldPairs(fields, (text) => text),
    (pairs) =>
      pairs.every(([, value]) => header_value.test(value))
        ? Result.succeed(Object.fromEntries([...pairs, ...fixed]))
        : Result.fail("unsafe-header")
  )
}

/** The fields that no style is given for are sent in the query only if they are scalars. */
const scalarsOf = (rest: JsonObject): Result.Result<ReadonlyArray<SentValue>, RequestRefusal> => {
  const all = Object.entries(rest)
  return all.every(([, value]) => value === null || isScalar(value))
    ? Result.succeed(all.map(([name, value]) => ({ name, value, style: "form" as const })))
    : Result.fail("non-scalar-argument")
}

const json = { type: "application/json" }

/** Makes the request, or fails with the reason why it is refused. `endpoint` is the run's callback, whose origin the URL has. */
export const requestOf = (
  endpoint: string,
  call: DirectRequest,
  body: JsonObject,
  profile: CallProfile
): Result.Result<CallRequest, RequestRefusal> => {
  const { method, path } = call
  const target = targetOf(endpoint, { method, path }, parameterValues(path, body), profile)
  if (Result.isFailure(target)) return Result.fail(target.failure)
  const rest = bodyOfRequest(call, body)
  const isBodied = sendsBody(call)
  const others = isBodied ? Result.succeed([]) : scalarsOf(rest)
  if (Result.isFailure(others)) return Result.fail(others.failure)
  const fields = [...valuesOf(querySent(call), body, "form"), ...others.success]
  const url = withQuery(target.success, fields)
  if (Result.isFailure(url)) return Result.fail(url.failure)
  const headers = headersOf(call, body)
  if (Result.isFailure(headers)) return Result.fail(headers.failure)
  const written = isBodied ? writtenBody(call.content ?? json, rest) : Result.succeed(undefined)
  return Result.map(written, (content) => ({
    method,
    url: url.success,
    body: content?.text,
    ...(content === undefined ? undefined : { content_type: content.type }),
    ...(headers.success === undefined ? undefined : { headers: headers.success })
  }))
}
