/**
 * Writes the body of a request: as JSON, as a form, as the parts of a multipart form, or as a text.
 */
import { Result } from "effect"
import type { Json } from "../value/Canonical.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, valueAt } from "./BodyPath.ts"
import type { RequestContent } from "./DirectRequest.ts"
import { contentKind } from "./DirectRequest.ts"
import type { FieldsRefusal, SentValue } from "./ParameterStyle.ts"
import { fieldPairs, formEncoded, formText, isScalar, pairsOf } from "./ParameterStyle.ts"

export interface RequestBody {
  readonly type: string
  readonly text: string
}

type Written = Result.Result<RequestBody | undefined, FieldsRefusal>

/** The fields of a form, each with the name and the style that it has on the wire. */
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
export const writtenBody = (content: RequestContent, body: JsonObject): Written => {
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
