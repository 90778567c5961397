/**
 * Makes an entry of the catalogue from an operation of an OpenAPI document. Its one input schema has the operation's parameters
 * and its body.
 */
import { Result, Schema } from "effect"
import type { Json } from "../Canonical.ts"
import { canonical } from "../Canonical.ts"
import { checkDefinitions, neededDefinitions } from "../tool/SchemaDefinitions.ts"
import { truncateUnits } from "../CutText.ts"
import { Permission, SideEffects } from "../tool/SideEffects.ts"
import type { JsonObject } from "./BodyPath.ts"
import { isUnsafeName, memberOf } from "./BodyPath.ts"
import { body_units_max, CallMethod, repeating, repeatingOf } from "./CallDescriptor.ts"
import { hasBody } from "./CallRequest.ts"
import type { ObjectParts } from "./OpenApiBody.ts"
import { objectParts } from "./OpenApiBody.ts"
import type { Dialect, WrittenOperation } from "./OpenApiDocument.ts"
import type { OpenApiRefused } from "./OpenApiRefused.ts"
import { refuseOpenApi } from "./OpenApiRefused.ts"
import { isScalarSchema, listOf, schema2020 } from "./OpenApiSchema.ts"
import type { PlatformOp } from "./PlatformOp.ts"
import { decodePlatformOp } from "./PlatformOp.ts"
import { issueText } from "../entry/SchemaIssues.ts"

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
  ...repeating
})
export interface Choice extends Schema.Schema.Type<typeof Choice> {}

const decodeStruct = Schema.decodeUnknownResult(Choice, { onExcessProperty: "error" })
const isCallMethod = Schema.is(CallMethod)
const isBodied = (method: string): boolean => isCallMethod(method) && hasBody(method)

export const decodeChoice = (value: unknown, at: number): Result.Result<Choice, OpenApiRefused> =>
  Result.mapError(decodeStruct(typeof value === "string" ? { operation: value } : value), (error) =>
    refuseOpenApi("InvalidChoice", `choice ${at + 1}`, issueText(error))
  )

const name_units_max = 64
const description_units_max = 4_000
/** The property names that every provider accepts. */
const legal = /^[A-Za-z0-9_.-]{1,64}$/
const isLegal = (name: string): boolean => legal.test(name) && !isUnsafeName(name)
/** By OpenAPI, header parameters with these names are ignored. */
const no_parameters = new Set(["accept", "authorization", "content-type"])

const modelName = (id: string): string =>
  id
    .replaceAll(/[^A-Za-z0-9_-]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, name_units_max)

/** A name for a parameter's value in the arguments that no other argument has. */
const aliasOf = (name: string, where: string, taken: ReadonlySet<string>): string => {
  const plain = name.replaceAll(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d|$)/, "_")
  const wanted = isUnsafeName(plain) ? `${where}_${plain}` : plain
  let alias = wanted.slice(0, 50)
  if (taken.has(alias)) alias = `${where}_${alias}`
  for (let n = 2; taken.has(alias); n++) alias = `${where}_${wanted.slice(0, 40)}_${n}`
  return alias
}

interface Parameter {
  readonly name: string
  readonly where: string
  readonly required: boolean
  /** Undefined = the value is not scalar and cannot be sent. */
  readonly schema: JsonObject | undefined
  /** In a path its value stands as it is, and not in the style of `;id=1` or `.1`. */
  readonly isPlain: boolean
}

const parameterOf = (parameter: JsonObject, dialect: Dialect): Parameter => {
  const { description, in: place, name, required, schema: given, style = "simple" } = parameter
  const schema = given === undefined ? undefined : schema2020(given, dialect)
  const where = typeof place === "string" ? place : ""
  const said = typeof description === "string" ? { description } : undefined
  return {
    name: typeof name === "string" ? name : "",
    where,
    required: required === true || where === "path",
    isPlain: where !== "path" || style === "simple",
    schema: schema !== undefined && isScalarSchema(schema) ? { ...said, ...schema } : undefined
  }
}

/**
 * The parts of the JSON body's schema; undefined = no body is sent. Fails if the body is JSON but not an object, or if it is
 * required and cannot be sent.
 */
const bodyOf = (
  { id, method, requestBody }: WrittenOperation,
  definitions: JsonObject,
  dialect: Dialect
): Result.Result<ObjectParts | undefined, OpenApiRefused> => {
  if (requestBody === undefined) return Result.succeed(undefined)
  const refuse = (problem: string) => Result.fail(refuseOpenApi("UnsupportedBody", id, problem))
  const required = requestBody["required"] === true
  if (!isBodied(method)) {
    return required ? refuse(`${method} sends no body`) : Result.succeed(undefined)
  }
  const content = Object.entries(memberOf(requestBody, "content") ?? {})
  const json = content.find(([type]) =>
    /^\s*application\/(?:json|\*)\s*(?:;|$)|^\*\/\*$/i.test(type)
  )
  if (json === undefined) {
    const types = content.map(([type]) => truncateUnits(type, 60)).slice(0, 5)
    return required
      ? refuse(`its body is ${types.join(" or ")} and no application/json`)
      : Result.succeed(undefined)
  }
  const parts = objectParts(schema2020(memberOf(json[1], "schema"), dialect), definitions)
  return parts === undefined
    ? refuse("its body is no JSON object, and a model gives a tool one object")
    : Result.succeed(parts)
}

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

/** A parameter that can be sent. */
interface Sent extends Parameter {
  readonly schema: JsonObject
}

/** The input schema and the query while they are being built. */
interface Request {
  readonly operation: WrittenOperation
  readonly properties: Map<string, Json>
  readonly required: Set<string>
  /** For a method with a body: the query's parameters, each with its name in the arguments. */
  readonly query: Map<string, string>
}

const placeholders = /\{([^{}]*)\}/g

/** The parameters that are sent. Optional ones that cannot be sent are left out; fails if a required one cannot be sent. */
const sendable = (
  { id, parameters }: WrittenOperation,
  dialect: Dialect
): Result.Result<ReadonlyArray<Sent>, OpenApiRefused> => {
  const found: Array<Sent> = []
  for (const raw of parameters) {
    const parameter = parameterOf(raw, dialect)
    const { isPlain, name, required, schema, where } = parameter
    if (where === "header" && no_parameters.has(name.toLowerCase())) continue
    const isSent = where === "path" || where === "query"
    if (isSent && isPlain && schema !== undefined) found.push({ ...parameter, schema })
    else if (required) {
      const why = !isSent
        ? `it is sent as a ${where}`
        : isPlain
          ? "its value is no text, number or boolean"
          : "its style is not simple"
      const problem = `the parameter "${truncateUnits(name, 64)}" is required, and ${why}`
      return Result.fail(refuseOpenApi("UnsupportedParameter", id, problem))
    }
  }
  return Result.succeed(found)
}

const unnamed = "which is no name that models may be given"

/** Adds the members of the body. A member whose name providers refuse is left out, or refused if the endpoint requires it. */
const addBody = (
  { operation, properties, required }: Request,
  body: ObjectParts
): OpenApiRefused | undefined => {
  for (const [name, schema] of Object.entries(body.properties)) {
    if (isLegal(name)) properties.set(name, schema)
  }
  for (const name of body.required) {
    if (!isLegal(name)) {
      const problem = `its body requires "${truncateUnits(name, 64)}", ${unnamed}`
      return refuseOpenApi("UnsupportedBody", operation.id, problem)
    }
    required.add(name)
  }
  return undefined
}

/**
 * For a method without a body: adds the query's parameters, which are sent under their own names. A parameter whose name
 * providers refuse is left out, or refused if it is required.
 */
const addQuery = (
  { operation, properties, required }: Request,
  parameters: ReadonlyArray<Sent>
): OpenApiRefused | undefined => {
  for (const parameter of parameters) {
    const { name, schema } = parameter
    if (isLegal(name)) {
      properties.set(name, schema)
      if (parameter.required) required.add(name)
    } else if (parameter.required) {
      const problem = `the parameter "${truncateUnits(name, 64)}" is required, ${unnamed}`
      return refuseOpenApi("UnsupportedParameter", operation.id, problem)
    }
  }
  return undefined
}

/** Adds a parameter. Returns its name in the arguments. */
const addPart = (
  { properties, required }: Request,
  { name, required: isRequired, schema, where }: Sent
): string => {
  const alias = aliasOf(name, where, new Set([...properties.keys(), ...required]))
  properties.set(alias, schema)
  if (isRequired) required.add(alias)
  return alias
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
  body: ObjectParts | undefined,
  dialect: Dialect
): Result.Result<string, OpenApiRefused> => {
  const { operation } = request
  const all = sendable(operation, dialect)
  if (Result.isFailure(all)) return Result.fail(all.failure)
  const query = all.success.filter(({ where }) => where === "query")
  const isWithBody = isBodied(operation.method)
  const refused =
    (body === undefined ? undefined : addBody(request, body)) ??
    (isWithBody ? undefined : addQuery(request, query))
  if (refused !== undefined) return Result.fail(refused)
  const path = filledPath(request, all.success)
  if (!isWithBody) return path
  for (const each of query) request.query.set(each.name, addPart(request, each))
  return path
}

/**
 * Makes the entry. `base` is the part of the URL between the origin and the document's paths. Fails with the reason why the
 * operation cannot become an entry.
 */
export const platformOpOf = (
  operation: WrittenOperation,
  choice: Choice,
  { base, dialect }: { readonly base: string; readonly dialect: Dialect }
): Result.Result<PlatformOp, OpenApiRefused> => {
  const { description, id, method, path } = operation
  const refuse = (reason: OpenApiRefused["reason"], problem: string) =>
    Result.fail(refuseOpenApi(reason, id, problem))
  if (!isCallMethod(method)) {
    return refuse("UnsupportedMethod", `${method} is none of ${CallMethod.literals.join(", ")}`)
  }
  if (/[?#]/.test(path)) return refuse("InvalidDocument", "its path has a query or a fragment")
  const op = choice.name ?? modelName(id)
  if (op === "") return refuse("InvalidChoice", "give it a name: its id has no letter or digit")
  const definitions = definitionsOf(operation, dialect)
  if (Result.isFailure(definitions)) return Result.fail(definitions.failure)
  const body = bodyOf(operation, definitions.success, dialect)
  if (Result.isFailure(body)) return Result.fail(body.failure)
  const request: Request = {
    operation,
    properties: new Map(),
    required: new Set(),
    query: new Map()
  }
  const filled = pathOf(request, body.success, dialect)
  if (Result.isFailure(filled)) return Result.fail(filled.failure)
  const { properties, query, required } = request
  const { permission, side_effects = method === "GET" ? "read" : "external" } = choice
  const others = body.success === undefined ? false : body.success.others
  const schema = {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.size === 0 ? undefined : { required: [...required] }),
    ...(others === undefined ? undefined : { additionalProperties: others })
  }
  const $defs = neededDefinitions(schema, definitions.success)
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
    ...(side_effects === "read" || side_effects === "none" ? { read_only: true } : undefined),
    ...repeatingOf(choice),
    ...(permission === undefined ? undefined : { default_permission: permission })
  })
  if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
  return refuse(
    choice.name === undefined ? "UnsupportedSchema" : "InvalidChoice",
    decoded.failure.message
  )
}

/** What a relative URL of a server is read against. */
const no_origin = "https://host.invalid"

/** The first of these servers, with its variables filled in; undefined = there is none. Fails with what is wrong with it. */
const firstServer = (servers: Json | undefined): Result.Result<URL | undefined, string> => {
  const [first] = listOf(servers)
  const text = memberOf(first, "url")
  if (typeof text !== "string") return Result.succeed(undefined)
  const variables = memberOf(first, "variables")
  const filled = text.replaceAll(placeholders, (whole, name: string) => {
    const value = memberOf(memberOf(variables, name), "default")
    return typeof value === "string" ? value : whole
  })
  const url = URL.parse(filled, no_origin)
  return url === null || /[{}]|%7b/i.test(url.pathname)
    ? Result.fail("its first server is no URL: give base_path")
    : Result.succeed(url)
}

const pathOfServer = (url: URL | undefined): string => url?.pathname.replace(/\/+$/, "") ?? ""

/**
 * The path of the document's first server, which comes before the document's paths; empty if there is no server. Fails if the
 * server's URL cannot be read or has a variable without a default.
 */
export const basePath = (root: JsonObject): Result.Result<string, OpenApiRefused> =>
  Result.mapBoth(firstServer(memberOf(root, "servers")), {
    onFailure: (problem) => refuseOpenApi("NotOpenApi", "document", problem),
    onSuccess: pathOfServer
  })

/** Whether two servers are known to be at different origins. */
const areApart = (one: URL | undefined, other: URL | undefined): boolean => {
  const origins = [one?.origin ?? no_origin, other?.origin ?? no_origin]
  return !origins.includes(no_origin) && origins[0] !== origins[1]
}

/**
 * The path that an operation's own path follows: that of its own first server, or else `base`, the document's. Fails where its
 * own server is at another origin, because all calls go to one.
 */
export const baseOf = (
  { id, servers }: WrittenOperation,
  root: JsonObject,
  base: string
): Result.Result<string, OpenApiRefused> => {
  const refuse = (problem: string) => refuseOpenApi("UnsupportedServer", id, problem)
  const own = Result.mapError(firstServer(servers), refuse)
  if (Result.isFailure(own)) return Result.fail(own.failure)
  if (own.success === undefined) return Result.succeed(base)
  const document = Result.getOrElse(firstServer(memberOf(root, "servers")), () => undefined)
  return areApart(own.success, document)
    ? Result.fail(refuse("its own server is at another origin than the document's: give base_path"))
    : Result.succeed(pathOfServer(own.success))
}
