/**
 * Makes an entry of the catalogue from an operation of an OpenAPI document. Its one input schema has the operation's parameters
 * and its body.
 */
import { Result, Schema } from "effect"
import type { Json } from "../value/Canonical.ts"
import { canonical } from "../value/Canonical.ts"
import { checkDefinitions, neededDefinitions } from "../schema/SchemaDefinitions.ts"
import { truncateUnits } from "../value/CutText.ts"
import { Permission, SideEffects } from "../tool/SideEffects.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isJsonObject } from "./BodyPath.ts"
import type { SentField } from "./CallDescriptor.ts"
import { body_units_max, CallMethod, repeating, repeatingOf, sendsBody } from "./CallDescriptor.ts"
import type { ImportedBody } from "./OpenApiContent.ts"
import { aliasOf, bodyOf, isLegalName } from "./OpenApiContent.ts"
import type { Dialect, WrittenOperation } from "./OpenApiDocument.ts"
import type { Parameters, Sent } from "./OpenApiParameter.ts"
import { parametersOf } from "./OpenApiParameter.ts"
import type { OpenApiRefused } from "./OpenApiRefused.ts"
import { refuseOpenApi } from "./OpenApiRefused.ts"
import { schema2020 } from "./OpenApiSchema.ts"
import type { PlatformOp } from "./PlatformOp.ts"
import { decodePlatformOp } from "./PlatformOp.ts"
import { issueText } from "../schema/SchemaIssues.ts"

const Choice = Schema.Struct({
  /** Its `operationId`, or its method and path, such as `GET /items/{id}`. */
  operation: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1_000)),
  /** Absent = the operation's id, with `_` in place of characters other than letters, digits, `_` and `-`. */
  name: Schema.optionalKey(Schema.String),
  /** Absent = the operation's summary and description. */
  description: Schema.optionalKey(Schema.String),
  /** Absent = `read` for GET, `external` for any other method. */
  side_effects: Schema.optionalKey(SideEffects),
  /** Absent = a read is allowed, and a person is asked about anything else. */
  permission: Schema.optionalKey(Permission),
  /**
   * Headers: the value that is sent with every call, such as `{ "Api-Version": "7" }`, or true for one that the document has and
   * the model gives. Approvers are shown the values, and journals keep them: no credential belongs here.
   */
  headers: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Literal(true)])).check(
      Schema.isMaxProperties(64)
    )
  ),
  ...repeating
})
export interface Choice extends Schema.Schema.Type<typeof Choice> {}

const decodeStruct = Schema.decodeUnknownResult(Choice, { onExcessProperty: "error" })
const isCallMethod = Schema.is(CallMethod)

/** Reads a choice, which has `headers` beside its own. `at` is its place, for errors. */
export const decodeChoice = (
  value: unknown,
  at: number,
  headers: Readonly<Record<string, string>> = {}
): Result.Result<Choice, OpenApiRefused> => {
  const given = typeof value === "string" ? { operation: value } : value
  const own = isJsonObject(given) && isJsonObject(given["headers"]) ? given["headers"] : {}
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()))
  const more = Object.entries(headers).filter(([name]) => !names.has(name.toLowerCase()))
  const whole =
    isJsonObject(given) && more.length > 0
      ? { ...given, headers: { ...Object.fromEntries(more), ...own } }
      : given
  return Result.mapError(decodeStruct(whole), (error) =>
    refuseOpenApi("InvalidChoice", `choice ${at + 1}`, issueText(error))
  )
}

const name_units_max = 64
const description_units_max = 4_000
const modelName = (id: string): string =>
  id
    .replaceAll(/[^A-Za-z0-9_-]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, name_units_max)

/** The schemas that refer to themselves, in JSON Schema 2020-12. Fails if values cannot be checked with them. */
const definitionsOf = (
  { definitions, id }: WrittenOperation,
  dialect: Dialect
): Result.Result<JsonObject, OpenApiRefused> => {
  const found = Object.fromEntries(
    Object.entries(definitions).map(([name, schema]) => [name, schema2020(schema, dialect)])
  )
  switch (checkDefinitions(found)) {
    case "endless": {
      const problem = "a schema refers to itself with no object or list between, so nothing fits it"
      return Result.fail(refuseOpenApi("CircularReference", id, problem))
    }
    case "large":
      return Result.fail(refuseOpenApi("TooLarge", id, "its schemas refer to too many others"))
    case undefined:
      return Result.succeed(found)
  }
}

interface Request {
  readonly operation: WrittenOperation
  readonly properties: Map<string, Json>
  readonly required: Set<string>
  /** The query's parameters that are not sent as the argument of their own name. */
  readonly query: Map<string, string | SentField>
  readonly headers: Map<string, string | SentField>
}

const placeholders = /\{([^{}]*)\}/g

const addPart = (
  { properties, required }: Request,
  { name, required: isRequired, schema, where }: Sent
): string => {
  const alias = aliasOf(name, where, new Set([...properties.keys(), ...required]))
  properties.set(alias, schema)
  if (isRequired) required.add(alias)
  return alias
}

/** For a request without a body: adds the query's parameters whose names models may be given, under their own names. */
const addQuery = ({ properties, query, required }: Request, parameters: ReadonlyArray<Sent>) => {
  for (const { name, required: isRequired, schema, style } of parameters) {
    properties.set(name, schema)
    if (isRequired) required.add(name)
    if (style !== undefined) query.set(name, { field: name, ...style })
  }
}

/** The path, in which each placeholder has the name of its value in the arguments. Fails if a placeholder is not a parameter. */
const filledPath = (
  request: Request,
  parameters: ReadonlyArray<Sent>
): Result.Result<string, OpenApiRefused> => {
  const { id, path } = request.operation
  const aliases = new Map<string, string>()
  let unknown: string | undefined
  const filled = path.replaceAll(placeholders, (_, name: string) => {
    const parameter = parameters.find((each) => each.where === "path" && each.name === name)
    if (parameter === undefined) {
      unknown ??= name
      return ""
    }
    const alias = aliases.get(name) ?? addPart(request, parameter)
    aliases.set(name, alias)
    return `{${alias}}`
  })
  if (unknown === undefined) return Result.succeed(filled)
  const problem = `its path names "${truncateUnits(unknown, 64)}", which is none of its parameters`
  return Result.fail(refuseOpenApi("UnsupportedParameter", id, problem))
}

/** Adds everything that is sent to the request. Returns the path of the entry. */
const pathOf = (
  request: Request,
  body: ImportedBody,
  { headers, sent }: Parameters,
  isWithBody: boolean
): Result.Result<string, OpenApiRefused> => {
  for (const [name, schema] of Object.entries(body.properties)) {
    request.properties.set(name, schema)
  }
  for (const name of body.required) request.required.add(name)
  const query = sent.filter(({ where }) => where === "query")
  const isOwn = ({ name }: Sent): boolean => !isWithBody && isLegalName(name)
  addQuery(request, query.filter(isOwn))
  const path = filledPath(request, sent)
  if (Result.isFailure(path)) return path
  for (const each of query.filter((one) => !isOwn(one))) {
    const field = addPart(request, each)
    request.query.set(each.name, each.style === undefined ? field : { field, ...each.style })
  }
  for (const each of sent.filter(({ where }) => where === "header")) {
    request.headers.set(each.name, { field: addPart(request, each), ...each.style })
  }
  for (const [name, value] of Object.entries(headers)) request.headers.set(name, value)
  return path
}

/** The entry's `content`; undefined = it is what the method has anyway. */
const contentOf = (method: CallMethod, { content }: ImportedBody) => {
  const usual = sendsBody({ method }) ? undefined : null
  return content === usual ? undefined : content === undefined ? json : content
}

const json = { type: "application/json" }

const schemaOf = ({ properties, required }: Request, others: Json | undefined): JsonObject => {
  // Their type cannot be checked beside named members, and is left to the endpoint.
  const isChecked = others !== undefined && !(isJsonObject(others) && properties.size > 0)
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.size === 0 ? undefined : { required: [...required] }),
    ...(isChecked ? { additionalProperties: others } : undefined)
  }
}

export interface Imported {
  readonly op: PlatformOp
  /** What the operation takes and the entry does not offer, each with the reason. */
  readonly left_out: ReadonlyArray<string>
}

const partsOf = (operation: WrittenOperation, { headers = {} }: Choice, dialect: Dialect) =>
  Result.gen(function* () {
    const definitions = yield* definitionsOf(operation, dialect)
    const body = yield* bodyOf(operation, definitions, dialect)
    const parameters = yield* parametersOf(operation, dialect, headers)
    return { definitions, body, parameters }
  })

/** `base` is the part of the URL between the origin and the document's paths. Fails with the reason why there can be no entry. */
export const platformOpOf = (
  operation: WrittenOperation,
  choice: Choice,
  { base, dialect }: { readonly base: string; readonly dialect: Dialect }
): Result.Result<Imported, OpenApiRefused> => {
  const { description, id, method, path } = operation
  const refuse = (reason: OpenApiRefused["reason"], problem: string) =>
    Result.fail(refuseOpenApi(reason, id, problem))
  if (!isCallMethod(method)) {
    return refuse("UnsupportedMethod", `${method} is none of ${CallMethod.literals.join(", ")}`)
  }
  if (/[?#]/.test(path)) return refuse("InvalidDocument", "its path has a query or a fragment")
  const op = choice.name ?? modelName(id)
  if (op === "") return refuse("InvalidChoice", "give it a name: its id has no letter or digit")
  const parts = partsOf(operation, choice, dialect)
  if (Result.isFailure(parts)) return Result.fail(parts.failure)
  const { body, definitions, parameters } = parts.success
  const content = contentOf(method, body)
  const request: Request = {
    operation,
    properties: new Map(),
    required: new Set(),
    query: new Map(),
    headers: new Map()
  }
  const filled = pathOf(request, body, parameters, sendsBody({ content, method }))
  if (Result.isFailure(filled)) return Result.fail(filled.failure)
  const { headers, query } = request
  const { permission, side_effects = method === "GET" ? "read" : "external" } = choice
  const schema = schemaOf(request, body.others)
  const $defs = neededDefinitions(schema, definitions)
  const input_schema = Object.keys($defs).length === 0 ? schema : { ...schema, $defs }
  if (canonical(input_schema).length > body_units_max) {
    return refuse("TooLarge", `its schema has more than ${body_units_max} characters`)
  }
  const decoded = decodePlatformOp({
    op,
    description: truncateUnits(
      choice.description ?? (description === "" ? `${method} ${path}` : description),
      description_units_max
    ),
    method,
    path: `${base}${filled.success}`,
    input_schema,
    ...(query.size === 0 ? undefined : { query: Object.fromEntries(query) }),
    ...(headers.size === 0 ? undefined : { headers: Object.fromEntries(headers) }),
    ...(content === undefined ? undefined : { content }),
    ...(side_effects === "read" || side_effects === "none" ? { read_only: true } : undefined),
    ...repeatingOf(choice),
    ...(permission === undefined ? undefined : { default_permission: permission })
  })
  if (Result.isSuccess(decoded)) {
    const left_out = [...parameters.left_out, ...body.left_out]
    return Result.succeed({ op: decoded.success, left_out })
  }
  const isOfChoice = choice.name !== undefined || choice.headers !== undefined
  return refuse(isOfChoice ? "InvalidChoice" : "UnsupportedSchema", decoded.failure.message)
}
