/**
 * A request to an endpoint of the host platform that the runtime sends itself. The descriptor names a method and a path, never a
 * host, and contains the values that the model may not choose. A catalogue entry also says which fields of the assembled body are
 * sent in the query and in headers, and as what type of content the rest is sent.
 */
import { Schema, Struct } from "effect"
import type { RetryConfig } from "../tool/RetryPolicy.ts"
import { RetryPolicy } from "../tool/RetryPolicy.ts"
import { defined } from "../value/PlainObject.ts"
import { schemaFault } from "../schema/SchemaShape.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject, isUnsafeName } from "./BodyPath.ts"
import { parameter, pathRefusal } from "./CallTarget.ts"
import { tokenPath } from "./HostContext.ts"
import { header_name, header_value, isOwnHeader, isWithheldHeader } from "../network/HeaderNames.ts"
import { ParameterStyle } from "./ParameterStyle.ts"

/** The longest JSON text of a fixed body or a schema, in UTF-16 units. */
export const body_units_max = 65_536
/** The greatest number of bound fields of a call, and of parameters in its query. */
export const bindings_max = 64
export const path_units_max = 2_000

export const CallPath = Schema.String.check(
  Schema.isMaxLength(path_units_max),
  Schema.isPattern(/^\/(?!\/)/, { expected: "a path that begins with one slash" }),
  Schema.makeFilter(
    (path) =>
      !/[{}]/.test(path.replaceAll(parameter, "")) ||
      "a brace in it begins or ends no parameter: write one as {name}"
  ),
  Schema.makeFilter((path) => {
    const refusal = pathRefusal(path)
    return refusal === undefined || `no request can have this path: ${refusal}`
  })
)

export const PathText = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))

const ContextToken = Schema.String.check(
  Schema.isMaxLength(500),
  Schema.makeFilter((text) => tokenPath(text) !== undefined || "it is no $ctx.<path> token")
)

/** Fields of the body, by path, that are filled from the run's context. */
export const Bindings = Schema.Record(PathText, ContextToken).check(
  Schema.isMaxProperties(bindings_max)
)

/** A JSON object. Its members are not checked, because every configuration was read as JSON before. */
const ReadObject = Schema.Unknown.pipe(Schema.refine(isJsonObject, { expected: "a JSON object" }))

/** An upper bound of the length of a value's JSON text. Each unit of a text may be escaped as six. */
const unitsAtMost = (value: unknown): number => {
  if (typeof value === "string") return 6 * value.length + 3
  if (typeof value !== "object" || value === null) return 26
  let units = 3
  if (Array.isArray(value)) for (const item of value) units += unitsAtMost(item)
  else {
    for (const name in value) {
      units += 6 * name.length + 4 + unitsAtMost((value as JsonObject)[name])
    }
  }
  return units
}

/** Whether the JSON text is within `body_units_max`. For most values the upper bound shows it without a text (bench row `calls`). */
export const isWithinUnits = (body: JsonObject): boolean =>
  unitsAtMost(body) <= body_units_max || JSON.stringify(body).length <= body_units_max

const Bounded = ReadObject.check(
  Schema.makeFilter(
    (body) => isWithinUnits(body) || `it has more than ${body_units_max} characters`
  )
)

/** Whether a value has, at any depth, a member whose name reaches a prototype. Such a member is never sent. */
const reachesPrototype = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(value).some(
    ([name, member]) => (!Array.isArray(value) && isUnsafeName(name)) || reachesPrototype(member)
  )

export const FixedBody = Bounded.check(
  Schema.makeFilter(
    (body) =>
      !reachesPrototype(body) ||
      "a member of it is called __proto__, constructor or prototype, which is never sent"
  )
)

export const WrittenSchema = Bounded.check(
  Schema.makeFilter((schema) => schemaFault(schema) ?? true)
)

/** A retry policy whose absent members have their defaults. Its type is named, so that editors show what each member means. */
const WrittenRetry: Schema.Codec<RetryConfig> = RetryPolicy.mapFields(
  Struct.map(Schema.optionalKey)
)

export const repeating = {
  /**
   * True = the endpoint accepts each `Idempotency-Key` once and answers a repeated one as it did the first, so a lost call is
   * sent again with its key. Absent = this is not known, and the outcome of a lost call is unknown.
   */
  idempotent: Schema.optionalKey(Schema.Boolean),
  /**
   * How often one call is attempted, always with its key. Absent = once. More attempts need `idempotent`, unless the tool only
   * reads.
   */
  retry: Schema.optionalKey(WrittenRetry)
}

export interface Repeating {
  readonly idempotent?: boolean
  readonly retry?: RetryConfig
}

export const repeatingOf = ({ idempotent, retry }: Repeating): Repeating =>
  defined({ idempotent, retry })

export const CallMethod = Schema.Literals(["GET", "POST", "PUT", "PATCH", "DELETE"])
export type CallMethod = typeof CallMethod.Type

export class CallDescriptor extends Schema.Opaque<CallDescriptor>()(
  Schema.Struct({
    /** The HTTP method. */
    method: CallMethod,
    /** The path on the host's platform; segments such as `{id}` are filled from the arguments. */
    path: CallPath,
    /** Fixed values of the body, which the model's arguments cannot override. */
    body: Schema.optionalKey(FixedBody),
    /** Fields that are filled from the run's context at dispatch, after everything else. */
    context: Schema.optionalKey(Bindings),
    /** Where the model's arguments are placed. Absent = at the root. */
    args_into: Schema.optionalKey(PathText)
  })
) {}

export interface BodyParts {
  readonly body?: JsonObject
  readonly context?: Readonly<Record<string, string>>
  readonly args_into?: string
}

/** A field of the body that is sent under a name of its own. */
export class SentField extends Schema.Opaque<SentField>()(
  Schema.Struct({
    field: PathText,
    /** Absent = `form` in a query, `simple` in a header, `content` in a form. */
    style: Schema.optionalKey(ParameterStyle),
    /** Absent = true for `form`, false for any other style. */
    explode: Schema.optionalKey(Schema.Boolean)
  })
) {}

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

export class RequestContent extends Schema.Opaque<RequestContent>()(
  ContentFields.check(Schema.makeFilter(contentFault))
) {}

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
