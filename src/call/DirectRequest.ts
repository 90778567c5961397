/**
 * How the assembled body of a catalogue entry's call becomes a request: which of its fields are sent in the query and in headers,
 * and as what type of content the rest is sent.
 */
import { Schema } from "effect"
import { isUnsafeName } from "./BodyPath.ts"
import type { CallDescriptor, CallMethod } from "./CallDescriptor.ts"
import { bindings_max, PathText } from "./CallDescriptor.ts"
import { header_name, header_value, isOwnHeader, isWithheldHeader } from "../network/HeaderNames.ts"
import { ParameterStyle } from "./ParameterStyle.ts"

/** A field of the body that is sent under a name of its own. */
export const SentField = Schema.Struct({
  field: PathText,
  /** Absent = `form` in a query, `simple` in a header, `content` in a form. */
  style: Schema.optionalKey(ParameterStyle),
  /** Absent = true for `form`, false for any other style. */
  explode: Schema.optionalKey(Schema.Boolean)
})
export interface SentField extends Schema.Schema.Type<typeof SentField> {}

const SentName = Schema.String.check(
  Schema.isMinLength(1),
  Schema.isMaxLength(200),
  Schema.makeFilter((name) => !isUnsafeName(name) || "a parameter of this name is never sent")
)

/** The parameters of a query, each with the path of the body's field that has its value, or with its field and style. */
export const QueryFields = Schema.Record(SentName, Schema.Union([PathText, SentField])).check(
  Schema.isMaxProperties(bindings_max)
)

const HeaderName = Schema.String.check(
  Schema.isPattern(header_name, { expected: "the name of a header" }),
  Schema.makeFilter((name) => !isOwnHeader(name) || "the runtime itself sets this header")
)

/** A header has one value: an object whose members were headers of their own would choose their names. */
const HeaderField = SentField.check(
  Schema.makeFilter(
    ({ style = "simple" }) =>
      style === "simple" || style === "json" || "the style of a header is simple or json"
  )
)

/** Why a model may not give one of these headers; true = it gives only those that it may. */
const mayGive = (headers: Readonly<Record<string, string | SentField>>): string | true => {
  const held = Object.keys(headers).find(
    (name) => typeof headers[name] !== "string" && isWithheldHeader(name)
  )
  return held === undefined || `no model may give the header "${held}": give its value`
}

/** Headers, each with its value, which is the same for every call, or with the field of the body that has it. */
export const HeaderFields = Schema.Record(
  HeaderName,
  Schema.Union([
    Schema.String.check(
      Schema.isMinLength(1),
      Schema.isPattern(header_value, { expected: "at most 4000 characters of ASCII in one line" })
    ),
    HeaderField
  ])
).check(Schema.isMaxProperties(bindings_max), Schema.makeFilter(mayGive))

/** A media type, perhaps with parameters. */
const media_type =
  /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(?:\s*;\s*[\w.+-]{1,50}=(?:[\w.+-]{1,100}|"[\w .:/+-]{0,100}"))*$/

export const isMediaType = (text: string): boolean => media_type.test(text)

export type ContentKind = "json" | "form" | "multipart" | "text"

export const contentKind = (type: string): ContentKind => {
  const [name = ""] = type.toLowerCase().split(";", 1)
  switch (name.trim()) {
    case "application/x-www-form-urlencoded":
      return "form"
    case "multipart/form-data":
      return "multipart"
    default:
      return /\/(?:json|[^/]+\+json)$/.test(name.trim()) ? "json" : "text"
  }
}

const ContentFields = Schema.Struct({
  /**
   * The media type. JSON (`application/json`, `application/merge-patch+json`), `application/x-www-form-urlencoded` and
   * `multipart/form-data` are written as such; of any other type the body is a text.
   */
  type: Schema.String.check(
    Schema.isPattern(media_type, { expected: "a media type such as text/csv" })
  ),
  /** The field whose value alone is the body, such as a list; without a value no body is sent. Absent = all fields. */
  field: Schema.optionalKey(PathText),
  /** The fields of a form that have another name or style on the wire, by their names there. */
  parts: Schema.optionalKey(Schema.Record(SentName, SentField).check(Schema.isMaxProperties(1_000)))
})

/** What a type of content cannot have; true = nothing is wrong. */
const contentFault = ({ field, parts, type }: typeof ContentFields.Type): string | true => {
  const kind = contentKind(type)
  const isForm = kind === "form" || kind === "multipart"
  if (kind === "text" && field === undefined) return `${type} is a text: name the field that has it`
  if (isForm && field !== undefined) return "a form has all fields: leave field out"
  return isForm || parts === undefined || "only a form has parts"
}

/** The content of a request's body. */
export const RequestContent = ContentFields.check(Schema.makeFilter(contentFault))
export interface RequestContent extends Schema.Schema.Type<typeof RequestContent> {}

/** A descriptor with what only catalogue entries have. */
export interface DirectRequest extends CallDescriptor {
  /** Parameters of the query. One whose field has no value is left out. */
  readonly query?: Readonly<Record<string, string | SentField>>
  /** Headers: a value that is always sent, or the field of the body that has it. */
  readonly headers?: Readonly<Record<string, string | SentField>>
  /** The content of the body; null = no body is sent. Absent = JSON for POST, PUT and PATCH, and no body otherwise. */
  readonly content?: RequestContent | null
}

const bodied: ReadonlySet<CallMethod> = new Set(["POST", "PUT", "PATCH"])

/** Whether a request has a body. One without sends the fields that it has no other place for as its query. */
export const sendsBody = ({
  content,
  method
}: {
  readonly content?: RequestContent | null | undefined
  readonly method: CallMethod
}): boolean => (content === undefined ? bodied.has(method) : content !== null)

/** The fields of the body that are sent in the query and in headers, each by its name there. */
export const fieldsOf = (
  sent: Readonly<Record<string, string | SentField>>,
  isField: (given: string) => boolean
): ReadonlyArray<readonly [name: string, sent: SentField]> =>
  Object.entries(sent).flatMap(([name, given]) =>
    typeof given !== "string"
      ? [[name, given] as const]
      : isField(given)
        ? [[name, { field: given }] as const]
        : []
  )
